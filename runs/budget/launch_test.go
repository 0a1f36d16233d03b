package budget_test

// Budget checks of a run: before the launch, in mid-run and at the end.

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/internal/fault"
	"ac/internal/runtimetest"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestMain lets the test binary run as a supervisor or guard of its sessions.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case session.SuperviseCommand:
			err = supervisor.Main(os.Args[0], os.Stdin, os.Stdout, nil)
		case session.GuardCommand:
			err = session.RunGuard()
		default:
			os.Exit(runtimetest.With(m).Run())
		}
		if err != nil {
			os.Exit(1)
		}
		return
	}
	if text := os.Getenv(asSupervisor); text != "" {
		if err := supervise(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(runtimetest.With(m).Run())
}

// TestPreflight checks that each scope refuses a launch once its budget is used up.
func TestPreflight(t *testing.T) {
	t.Parallel()
	const hard150 = "budget:\n  soft_tokens: 1\n  hard_tokens: 150\n"
	spent := func(scope string) []string {
		return []string{
			"policy.decision",
			`budget.decision {"scope":"` + scope + `","metric":"tokens","severity":"soft","threshold":1,"actual":150,"result":"alert","phase":"preflight"}`,
			`budget.decision {"scope":"` + scope + `","metric":"tokens","severity":"hard","threshold":150,"actual":150,"result":"exceeded","phase":"preflight"}`,
			`budget.alert {"scope":"` + scope + `","metric":"tokens","severity":"soft","threshold":1,"actual":150,"phase":"preflight"}`,
			`budget.exceeded {"scope":"` + scope + `","metric":"tokens","severity":"hard","threshold":150,"actual":150,"phase":"preflight"}`,
			"run.failed exit=null exceeded=true budget_preflight_exceeded",
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(b bureau)
		run     *doc.Budget
		words   []string
		want    []string
	}{
		{"run", func(bureau) {}, &doc.Budget{HardCostUSD: new(0.0)}, []string{"run", "cost_usd", "actual 0", "threshold 0"}, []string{
			"policy.decision",
			`budget.decision {"scope":"run","metric":"cost_usd","severity":"hard","threshold":0,"actual":0,"result":"exceeded","phase":"preflight"}`,
			`budget.exceeded {"scope":"run","metric":"cost_usd","severity":"hard","threshold":0,"actual":0,"phase":"preflight"}`,
			"run.failed exit=null exceeded=true budget_preflight_exceeded",
		}},
		{"project", func(b bureau) { b.spend(""); b.task(""); b.budget(hard150) }, nil, []string{"project", "tokens", "actual 150", "threshold 150"}, spent("project")},
		{"task", func(b bureau) { b.spend("t1"); b.spend("t2"); b.task(hard150) }, nil, []string{"task", "tokens", "actual 150", "threshold 150"}, spent("task")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBureau(t)
			c.prepare(b)
			run := b.create()
			err := b.launch(run, "t1", c.run, reports())
			if !fault.Is(err, fault.BudgetExceeded) || !strings.Contains(strings.ToLower(err.Error()), "budget preflight") {
				t.Fatalf("the launch ended with %v", err)
			}
			for _, word := range c.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not tell %q", err, word)
				}
			}
			if diff := cmp.Diff(c.want, b.told(run)); diff != "" {
				t.Error(diff)
			}
			if r := b.record(run); r.Status != doc.StatusFailed || r.EndedAt == "" || r.Spec != nil {
				t.Errorf("the run is %+v", r)
			}
			if _, err := os.Stat(b.path(workspace.SessionFile(session.LocalRef(run)))); !os.IsNotExist(err) {
				t.Errorf("there is a session record: %v", err)
			}
		})
	}
}

// TestUnreadableBudgets checks that an unreadable project or task has no budget and does not
// block the launch.
func TestUnreadableBudgets(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	run := b.create()
	b.budget("budget:\n  hard_tokens: nothing\n")
	b.task("budget: [0]\n")
	if err := b.launch(run, "t1", nil, reports()); err != nil {
		t.Fatal(err)
	}
	if got := b.collect(run); got.Status != doc.StatusEnded {
		t.Errorf("the session is %+v", got)
	}
	if told := b.told(run); slices.ContainsFunc(told, func(e string) bool { return strings.HasPrefix(e, "budget.") }) {
		t.Errorf("somebody decided on a budget: %q", told)
	}
}

// TestAfterRun checks that a run that reaches a limit fails, but keeps its exit code and usage.
// Costs count only if there is a rate card.
func TestAfterRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		card   bool
		budget doc.Budget
		status string
		want   []string
	}{
		{"tokens", false, doc.Budget{HardTokens: new(int64(150))}, doc.StatusFailed, []string{
			`budget.decision {"scope":"run","metric":"tokens","severity":"hard","threshold":150,"actual":150,"result":"exceeded"}`,
			`budget.exceeded {"scope":"run","metric":"tokens","severity":"hard","threshold":150,"actual":150}`,
			"run.failed exit=0 exceeded=true",
		}},
		{"no card", false, doc.Budget{HardCostUSD: new(0.2)}, doc.StatusEnded, []string{
			`budget.decision {"scope":"run","metric":"cost_usd","severity":"hard","threshold":0.2,"actual":0,"result":"ok"}`,
			"run.ended exit=0 exceeded=false",
		}},
		{"card", true, doc.Budget{SoftCostUSD: new(0.1), HardCostUSD: new(0.2)}, doc.StatusFailed, []string{
			"usage.cost_computed",
			`budget.decision {"scope":"run","metric":"cost_usd","severity":"soft","threshold":0.1,"actual":0.2,"result":"alert"}`,
			`budget.decision {"scope":"run","metric":"cost_usd","severity":"hard","threshold":0.2,"actual":0.2,"result":"exceeded"}`,
			`budget.alert {"scope":"run","metric":"cost_usd","severity":"soft","threshold":0.1,"actual":0.2}`,
			`budget.exceeded {"scope":"run","metric":"cost_usd","severity":"hard","threshold":0.2,"actual":0.2}`,
			"run.failed exit=0 exceeded=true",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBureau(t)
			if c.card {
				b.card()
			}
			run := b.create()
			if err := b.launch(run, "", &c.budget, reports()); err != nil {
				t.Fatal(err)
			}
			got := b.collect(run)
			if got.Status != c.status || got.ExitCode == nil || *got.ExitCode != 0 || (got.Error != "") != (c.status == doc.StatusFailed) {
				t.Errorf("the session is %+v", got)
			}
			told := b.told(run)
			if diff := cmp.Diff(c.want, told[slices.Index(told, "usage.reported")+1:]); diff != "" {
				t.Error(diff)
			}
			if r := b.record(run); r.Status != c.status || r.Usage == nil || r.Usage.TotalTokens != 150 {
				t.Errorf("the run is %+v", r)
			}
		})
	}
}

// TestExecute checks that run:execute skips the budget preflight and checks budgets after the
// run.
func TestExecute(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	b.task("budget:\n  hard_tokens: 150\n")
	b.budget("budget:\n  hard_tokens: 0\n")
	run := b.create()
	if record := b.host(run, "t1", nil, reports()); record.Status != doc.StatusFailed || record.ExitCode == nil || *record.ExitCode != 0 {
		t.Errorf("the session is %+v", record)
	}
	want := []string{
		"run.executing", "usage.reported",
		`budget.decision {"scope":"project","metric":"tokens","severity":"hard","threshold":0,"actual":150,"result":"exceeded"}`,
		`budget.decision {"scope":"task","metric":"tokens","severity":"hard","threshold":150,"actual":150,"result":"exceeded"}`,
		`budget.exceeded {"scope":"project","metric":"tokens","severity":"hard","threshold":0,"actual":150}`,
		`budget.exceeded {"scope":"task","metric":"tokens","severity":"hard","threshold":150,"actual":150}`,
		"run.failed exit=0 exceeded=true",
	}
	if diff := cmp.Diff(want, b.told(run)); diff != "" {
		t.Error(diff)
	}
}

// TestMidRun checks that a provider that would run forever is stopped once its reported usage
// stays over a limit. Spending of other runs counts.
func TestMidRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		budget *doc.Budget
		want   string
	}{
		{"run", &doc.Budget{HardTokens: new(int64(100))}, `{"scope":"run","metric":"tokens","severity":"hard","threshold":100,"actual":150`},
		{"project", nil, `{"scope":"project","metric":"tokens","severity":"hard","threshold":300,"actual":300`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBureau(t)
			if c.budget == nil {
				b.spend("")
				b.budget("budget:\n  hard_tokens: 300\n")
			}
			run := b.create()
			argv := reports()
			argv[2] += "; exec tail -f /dev/null"
			record := b.host(run, "", c.budget, argv)
			if record.Status != doc.StatusFailed || record.Signal == nil || *record.Signal != "SIGTERM" ||
				!strings.Contains(record.Error, "stopped in mid-run, budget exceeded: "+c.name+" tokens") {
				t.Errorf("the session is %+v", record)
			}
			want := []string{
				"run.executing", "usage.reported", "budget.decision " + c.want + `,"result":"exceeded"}`, "budget.exceeded " + c.want + "}",
				"run.failed exit=null exceeded=true",
			}
			if diff := cmp.Diff(want, b.told(run)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
