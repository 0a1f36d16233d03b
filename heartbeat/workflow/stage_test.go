package workflow_test

// Shared helpers for tests of runs: a workspace with a worker, and checks of the outcome.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/events"
	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/runtimetest"
	"ac/internal/yamldoc"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
)

// patience bounds every wait for a state, even on a busy machine.
const patience = 60 * time.Second

type stage struct {
	t       *testing.T
	w       *workspace.Workspace
	flows   workflow.Flows
	project string
	agent   string
}

func newStage(t *testing.T, environ ...string) *stage {
	t.Helper()
	executable := must(os.Executable())
	bin := t.TempDir()
	if err := os.Symlink(executable, filepath.Join(bin, "answerer")); err != nil {
		t.Fatal(err)
	}
	env := workspace.SystemEnv()
	env.LockPatience = patience
	dir := filepath.Join(workspace.Canonical(t.TempDir()), "ws")
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, w: must(workspace.Open(env, dir))}
	s.project = must(s.w.NewProject(t.Context(), "P"))
	s.agent = must(s.w.NewAgent(t.Context(), workspace.AgentSpec{Name: "Worker", Role: "worker", Provider: "cmd"}))
	file := filepath.Join(dir, workspace.AgentFile(s.agent))
	text := strings.Replace(string(must(os.ReadFile(file))), "launcher: {}", "launcher: {command_argv_template: ["+filepath.Join(bin, "answerer")+"]}", 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s.flows = workflow.Flows{Workspace: s.w, Starter: &job.Starter{Executable: executable, Environ: append(os.Environ(), append(environ, "AC_TEST_STAGE="+dir)...)}}
	t.Cleanup(func() {
		s.gone("AC_TEST_STAGE=" + dir)
		if err := s.w.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// gone waits until the stage's processes have ended. A runner may still be releasing its job
// when the flow's record is final.
func (s *stage) gone(token string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if lives, err := runtimetest.HasProcess(token); err != nil || !lives {
			return
		}
	}
	s.t.Error("a process of the test does not end")
}

// start starts a run of a flow given in YAML.
func (s *stage) start(flow string, change ...func(*workflow.Start)) doc.WorkflowRun {
	s.t.Helper()
	text := "schema_version: 1\ntype: workflow\nid: test:flow\nname: Flow\nflow: " + flow + "\n"
	value, err := yamldoc.Parse([]byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	start := workflow.Start{ProjectID: s.project, Template: value, Priority: "normal", Actor: policy.Actor{ID: "human", Role: "human"}}
	for _, c := range change {
		c(&start)
	}
	record, err := s.flows.Run(s.t.Context(), start)
	if err != nil {
		s.t.Fatalf("run: %v", err)
	}
	return record
}

// written waits until a run's record reaches a state. It only reads the record and does not
// advance the run.
func (s *stage) written(run string, what string, reached func(doc.WorkflowRun) bool) doc.WorkflowRun {
	s.t.Helper()
	return s.await(run, what, func() (doc.WorkflowRun, error) { return workflow.Load(s.w, s.project, run) }, reached)
}

// looked is like written, but advances the run.
func (s *stage) looked(run string, what string, reached func(doc.WorkflowRun) bool) doc.WorkflowRun {
	s.t.Helper()
	return s.await(run, what, func() (doc.WorkflowRun, error) { return s.flows.Advance(s.t.Context(), s.project, run) }, reached)
}

func (s *stage) await(run, what string, read func() (doc.WorkflowRun, error), reached func(doc.WorkflowRun) bool) doc.WorkflowRun {
	s.t.Helper()
	var record doc.WorkflowRun
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if record, err = read(); err == nil && reached(record) {
			return record
		}
	}
	s.t.Fatalf("%s never: %s: %+v (%v)", run, what, record.Steps, err)
	return record
}

func over(r doc.WorkflowRun) bool { return r.Over() }

// events returns the event types in a run's log, and checks that the log verifies.
func (s *stage) events(run string) (types []string) {
	s.t.Helper()
	report, err := runs.VerifyLog(s.w, s.project, run)
	if err != nil || len(report.VerificationIssues)+len(report.RecordIssues)+len(report.ParseIssues) > 0 {
		s.t.Errorf("the log of %s is not sound: %+v (%v)", run, report, err)
	}
	text := must(os.ReadFile(filepath.Join(s.w.Dir(), workspace.LogFile(s.project, run))))
	for line := range strings.Lines(string(text)) {
		types = append(types, events.Type([]byte(line)))
	}
	return types
}

// acts returns how often the workers of a job were started.
func (s *stage) acts(id string) int {
	text, _ := os.ReadFile(filepath.Join(s.w.Dir(), "acts-"+id))
	return strings.Count(string(text), "\n")
}

// once checks that each task of a run was done once, and that the run ended as its workflow
// did.
func (s *stage) once(record doc.WorkflowRun) {
	s.t.Helper()
	for _, step := range record.Steps {
		if step.JobID != "" && s.acts(step.JobID) != 1 {
			s.t.Errorf("step %s of %s was done %d times", step.Step, record.RunID, s.acts(step.JobID))
		}
	}
	run, err := runs.Load(s.w, s.project, record.RunID)
	want := map[string]string{doc.FlowSucceeded: doc.StatusEnded, doc.FlowFailed: doc.StatusFailed, doc.FlowCanceled: doc.StatusStopped}[record.Status]
	if err != nil || run.Status != want || run.Provider != "workflow" {
		s.t.Errorf("run %s is %s (%v), its workflow %s", record.RunID, run.Status, err, record.Status)
	}
}

// dyingRunner returns a program whose runners die when their job is over.
func (s *stage) dyingRunner() string {
	s.t.Helper()
	name := filepath.Join(s.t.TempDir(), dyingName)
	if err := os.Symlink(must(os.Executable()), name); err != nil {
		s.t.Fatal(err)
	}
	return name
}

// repository creates a git repository that is mapped as main.
func (s *stage) repository() string {
	s.t.Helper()
	dir := workspace.Canonical(s.t.TempDir())
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "--quiet", "--allow-empty", "-m", "First"},
	} {
		cmd := exec.CommandContext(s.t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	file := filepath.Join(s.w.Dir(), workspace.MachineFile)
	text := strings.Replace(string(must(os.ReadFile(file))), "repo_roots: {}", "repo_roots: {main: "+dir+"}", 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return dir
}
