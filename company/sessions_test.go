package company_test

// session.* with records left by other programs.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/company"
	"ac/company/orchestration"
	"ac/internal/fault"
	"ac/internal/param"
	"ac/internal/proc"
	"ac/rpc"
	"ac/workspace"
)

// bystander is a workspace in which tests leave records of other programs.
type bystander struct {
	t       *testing.T
	all     *company.Host
	table   *rpc.Table
	dir     string
	project string
}

func newBystander(t *testing.T) bystander {
	t.Helper()
	b := bystander{t: t, dir: filepath.Join(t.TempDir(), "ws"), table: rpc.NewTable("test")}
	b.all = company.New(company.Options{Env: workspace.SystemEnv(), Executable: "/nonexistent"})
	t.Cleanup(func() { _ = b.all.Close() })
	b.must("workspace.init", `{"workspace_dir":"DIR"}`)
	var made struct {
		ProjectID string `json:"project_id"`
	}
	b.read(b.must("workspace.project.create_with_defaults", `{"workspace_dir":"DIR","name":"P"}`), &made)
	b.project = made.ProjectID
	return b
}

func (b bystander) call(method, params string) (string, error) {
	b.t.Helper()
	params = strings.NewReplacer("DIR", b.dir, "PROJECT", b.project).Replace(params)
	result, err := b.table.Call(b.t.Context(), b.all, method, []byte(params))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(result)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text), nil
}

func (b bystander) must(method, params string) string {
	b.t.Helper()
	text, err := b.call(method, params)
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	return text
}

func (b bystander) read(text string, into any) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		b.t.Fatal(err)
	}
}

func (b bystander) run() string {
	b.t.Helper()
	var made struct {
		RunID string `json:"run_id"`
	}
	b.read(b.must("run.create", `{"workspace_dir":"DIR","project_id":"PROJECT","agent_id":"a","provider":"cmd"}`), &made)
	return made.RunID
}

func (b bystander) write(name, text string) {
	b.t.Helper()
	file := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b bystander) log(run string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, "work/projects", b.project, "runs", run, "events.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// record writes the record of a running session.
func (b bystander) record(ref, project, run, more string) {
	b.t.Helper()
	b.write(".local/sessions/"+ref+".yaml", fmt.Sprintf("schema_version: 1\ntype: session_record\nsession_ref: %s\nworkspace_dir: /elsewhere\n"+
		"project_id: %q\nrun_id: %q\nstatus: running\nexit_code: null\nsignal: null\nstarted_at_ms: 1000\n%s", ref, project, run, more))
}

// nobody names a dead process, as part of a session's record.
const nobody = "pid: 2147483646\npid_claimed_at_ms: 1000\n"

// TestListBesideBrokenRecords checks session.list with broken records. If a session's end cannot
// be recorded, its row has the reason. A record with invalid ids is skipped. Other rows are
// unaffected.
func TestListBesideBrokenRecords(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	fine, broken := b.run(), b.run()
	b.record("fine", b.project, fine, nobody)
	b.record("broken", b.project, broken, nobody)
	b.write("work/projects/"+b.project+"/runs/"+broken+"/run.yaml", "junk: [")
	b.record("escaping", "../../..", fine, nobody)
	b.record("climbing", b.project, "../"+fine, nobody)
	var rows []struct{ SessionRef, Status, Error string }
	text := strings.ReplaceAll(b.must("session.list", `{"workspace_dir":"DIR"}`), "session_ref", "SessionRef")
	b.read(text, &rows)
	got := ""
	for _, row := range rows {
		got += row.SessionRef + " " + row.Status + "\n"
		if (row.SessionRef == "broken") != strings.Contains(row.Error, "run.yaml") {
			t.Errorf("%+v", row)
		}
	}
	if want := "broken running\nfine failed\n"; got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	if _, err := b.call("session.poll", `{"workspace_dir":"DIR","session_ref":"climbing"}`); !fault.Is(err, fault.InvalidFile) {
		t.Errorf("poll of ids that are none: %v", err)
	}
	live := b.must("run.replay", `{"workspace_dir":"DIR","project_id":"PROJECT","run_id":"`+broken+`","mode":"live"}`)
	if !strings.Contains(live, `"live":{"available":true,"session_ref":"broken","status":"running","error":"its end could not be recorded: `) {
		t.Error(live)
	}
}

// TestLaunchBesideOthers checks that a run or session_ref with a live owner or provider cannot be
// launched again, and that its log stays unchanged.
func TestLaunchBesideOthers(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	self := proc.Self()
	owned := fmt.Sprintf("owner_pid: %d\nowner_start: %s\n", self.PID, self.Start)
	alive := fmt.Sprintf("pid: %d\npid_start: %s\npid_claimed_at_ms: %d\n", self.PID, self.Start, time.Now().UnixMilli())
	for _, c := range []struct{ name, more string }{
		{"an owner that lives, its provider gone", owned + nobody},
		{"an owner that lives, its provider not known yet", owned},
		{"a provider that lives", alive},
	} {
		t.Run(c.name, func(t *testing.T) {
			followed, free := b.run(), b.run()
			ref := "local_" + followed
			b.record(ref, b.project, followed, c.more)
			before := b.log(followed)
			for _, try := range []struct{ run, ref string }{{followed, ref}, {followed, "another-" + followed}, {free, ref}} {
				_, err := b.call("session.launch", fmt.Sprintf(`{"workspace_dir":"DIR","project_id":"PROJECT","run_id":%q,"argv":["true"],"session_ref":%q}`, try.run, try.ref))
				if !fault.Is(err, fault.Conflict) {
					t.Errorf("%s as %s: %v", try.run, try.ref, err)
				}
			}
			if after := b.log(followed); after != before {
				t.Errorf("its log has more:\n%s", after[len(before):])
			}
		})
	}
}

// TestRefusedLaunch checks the session_ref in the events of a launch refused by its budget. Budget
// decisions and the run's end have the requested one, policy decisions the run's own.
func TestRefusedLaunch(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	run := b.run()
	_, err := b.call("session.launch", `{"workspace_dir":"DIR","project_id":"PROJECT","run_id":"`+run+`","argv":["true"],"session_ref":"mine","budget":{"hard_tokens":0}}`)
	if !fault.Is(err, fault.BudgetExceeded) {
		t.Fatal(err)
	}
	got := ""
	for line := range strings.Lines(b.log(run)) {
		var event struct {
			Type       string
			SessionRef string `json:"session_ref"`
			Payload    struct {
				BudgetExceeded bool `json:"budget_exceeded"`
			}
		}
		b.read(line, &event)
		got += fmt.Sprintln(event.Type, strings.Replace(event.SessionRef, run, "RUN", 1), event.Payload.BudgetExceeded)
	}
	want := "run.started local_RUN false\npolicy.decision local_RUN false\nbudget.decision mine false\nbudget.exceeded mine false\nrun.failed mine true\n"
	if got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

// TestLaunchOfAnotherID checks that a run whose record has another id than its directory cannot be
// launched.
func TestLaunchOfAnotherID(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	run := b.run()
	file := "work/projects/" + b.project + "/runs/" + run + "/run.yaml"
	text, err := os.ReadFile(filepath.Join(b.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	b.write(file, strings.Replace(string(text), "id: "+run, "id: run_other", 1))
	before := b.log(run)
	_, err = b.call("session.launch", `{"workspace_dir":"DIR","project_id":"PROJECT","run_id":"`+run+`","argv":["true"]}`)
	if err == nil || !strings.Contains(err.Error(), "run_other") || b.log(run) != before {
		t.Errorf("%v", err)
	}
}

// TestExecuteOddWords checks that a command that is not UTF-8 is refused before the run is changed.
func TestExecuteOddWords(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	run := b.run()
	before := b.log(run)
	err := param.Check(&orchestration.ExecuteParams{Dir: company.Dir{WorkspaceDir: b.dir}, ProjectID: b.project, RunID: run, Argv: []string{"cat", "caf\xe9"}})
	if !fault.Is(err, fault.InvalidParams) || b.log(run) != before {
		t.Errorf("%v", err)
	}
}
