package budget_test

// A workspace fixture with runs, budgets and prices.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/company"
	"ac/company/orchestration"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
	"ac/workspace/doc"
)

// asSupervisor makes the test binary a process that hosts one session. Such a process kills all
// its descendants at the end, so it cannot be the test process itself.
const asSupervisor = "BUDGET_TEST_SUPERVISOR"

// supervise hosts an order's session, with a short BudgetPatience, and prints its record.
func supervise(text string) error {
	var o session.Order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	w, err := workspace.Open(workspace.SystemEnv(), o.WorkspaceDir)
	if err != nil {
		return err
	}
	host := supervisor.Host{Executable: os.Args[0], BudgetPatience: 30 * time.Millisecond}
	record, err := supervisor.Supervise(context.Background(), w, host, o)
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(record), w.Close())
}

// host executes a run in a separate process.
func (b bureau) host(run, task string, budget *doc.Budget, argv []string) (record doc.Session) {
	b.t.Helper()
	order, err := json.Marshal(session.Order{
		Version: session.OrderVersion, WorkspaceDir: b.dir, ProjectID: b.project, RunID: run, SessionRef: session.LocalRef(run),
		AgentID: "agent_x", Provider: "cmd", Argv: argv, TaskID: task, Budget: budget, Environ: os.Environ(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), asSupervisor+"="+string(order))
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return record
}

// bureau is a workspace with one project.
type bureau struct {
	t       *testing.T
	all     *company.Host
	dir     string
	project string
}

func newBureau(t *testing.T) bureau {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := bureau{t: t, dir: t.TempDir(), all: company.New(company.Options{Env: workspace.SystemEnv(), Executable: executable})}
	t.Cleanup(func() {
		if err := b.all.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), b.dir, workspace.InitOptions{CompanyName: "Bureau"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(workspace.SystemEnv(), b.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if b.project, err = w.NewProject(t.Context(), "Budgets"); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b bureau) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

// budget sets the budget of the project.
func (b bureau) budget(text string) {
	b.t.Helper()
	name := b.path(workspace.ProjectFile(b.project))
	old, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append(old, text...), 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// task creates task t1 with a budget.
func (b bureau) task(budget string) {
	b.t.Helper()
	text := "---\nschema_version: 1\ntype: task\nid: t1\nproject_id: " + b.project + "\ntitle: T\n" +
		"created_at: 2026-01-02T03:04:05.678Z\nstatus: draft\nvisibility: org\n" + budget + "milestones: []\n---\nbody\n"
	if err := os.WriteFile(b.path(workspace.TasksDir(b.project)+"/t1.md"), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b bureau) card() {
	b.t.Helper()
	w, err := workspace.Open(workspace.SystemEnv(), b.dir)
	if err == nil {
		err = w.UpdateMachine(context.Background(), func(m *doc.Machine) { m.Pricing["cmd"] = doc.RateCard{Input: 1, Output: 2} })
	}
	if err != nil {
		b.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
}

func (b bureau) create() string {
	b.t.Helper()
	made, err := company.Do(b.t.Context(), b.all, orchestration.Operations.CreateRun, orchestration.CreateRunParams{Dir: company.Dir{WorkspaceDir: b.dir}, ProjectID: b.project, AgentID: "agent_x", Provider: "cmd"})
	if err != nil {
		b.t.Fatal(err)
	}
	return made.RunID
}

// reports returns a command that reports 100 input and 50 output tokens.
func reports() []string {
	return []string{"sh", "-c", `echo '{"usage":{"input_tokens":100,"output_tokens":50}}'`}
}

func (b bureau) launch(run, task string, budget *doc.Budget, argv []string) error {
	p := orchestration.LaunchParams{Dir: company.Dir{WorkspaceDir: b.dir}, ProjectID: b.project, RunID: run}
	p.TaskID, p.Budget, p.Argv = task, budget, argv
	p.By("human", "human", "")
	_, err := company.Do(b.t.Context(), b.all, orchestration.Operations.Launch, p)
	return err
}

func (b bureau) collect(run string) company.CollectResult {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 30*time.Second)
	defer cancel()
	collected, err := b.all.CollectSession(ctx, company.SessionParams{
		MaybeDir: company.MaybeDir{WorkspaceDir: b.dir}, SessionRef: session.LocalRef(run),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return collected
}

// spend creates a run that spends 150 tokens.
func (b bureau) spend(task string) {
	b.t.Helper()
	run := b.create()
	if err := b.launch(run, task, nil, reports()); err != nil {
		b.t.Fatal(err)
	}
	b.collect(run)
}

// told lists a run's events except run.started and provider output. Budget events include their
// payload, the final event its exit code and budget outcome.
func (b bureau) told(run string) (told []string) {
	b.t.Helper()
	text, err := os.ReadFile(b.path(workspace.LogFile(b.project, run)))
	if err != nil {
		b.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Type       string
			Actor      string
			Visibility string
			Payload    json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			b.t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(e.Type, "budget."):
			if e.Actor != "system" || e.Visibility != "org" {
				b.t.Errorf("%s is of %s for %s", e.Type, e.Actor, e.Visibility)
			}
			told = append(told, e.Type+" "+string(e.Payload))
		case e.Type == "run.ended" || e.Type == "run.failed" || e.Type == "run.stopped":
			var end struct {
				Reason   string
				ExitCode *int `json:"exit_code"`
				Exceeded bool `json:"budget_exceeded"`
			}
			if err := json.Unmarshal(e.Payload, &end); err != nil {
				b.t.Fatal(err)
			}
			code := "null"
			if end.ExitCode != nil {
				code = fmt.Sprint(*end.ExitCode)
			}
			told = append(told, strings.TrimSpace(fmt.Sprintf("%s exit=%s exceeded=%v %s", e.Type, code, end.Exceeded, end.Reason)))
		case e.Type != "run.started" && e.Type != "provider.raw":
			told = append(told, e.Type)
		}
	}
	return told
}

func (b bureau) record(run string) doc.Run {
	b.t.Helper()
	text, err := os.ReadFile(b.path(workspace.RunFile(b.project, run)))
	if err != nil {
		b.t.Fatal(err)
	}
	record, err := doc.RunCodec.Decode(text)
	if err != nil {
		b.t.Fatal(err)
	}
	return record
}
