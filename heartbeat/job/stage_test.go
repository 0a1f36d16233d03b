package job_test

// Shared helpers for tests of jobs: a workspace with workers, submissions, and checks of what
// is left behind.

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/events"
	"ac/heartbeat/job"
	"ac/internal/proc"
	"ac/internal/runtimetest"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
)

// patience bounds every wait for a state, even on a busy machine.
const patience = 40 * time.Second

type stage struct {
	t       *testing.T
	w       *workspace.Workspace
	starter *job.Starter
	project string
	bin     string            // where the programs of the workers are
	agents  map[string]string // by provider
	token   string            // in the environment of all workers of this stage
	litter  bool              // runners were killed, which may leave lock files
	torn    int               // how many lines of a log a death may have torn
}

// newStage creates a workspace with one worker of each kind. environ is added to the workers'
// environment.
func newStage(t *testing.T, environ ...string) *stage {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, agents: map[string]string{}, token: "AC_TEST_STAGE=" + t.Name() + strconv.FormatInt(time.Now().UnixNano(), 36)}
	bin := t.TempDir()
	s.bin = bin
	for _, name := range []string{"codex", "claude", "gemini", "answerer"} {
		if err := os.Symlink(executable, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	env := workspace.SystemEnv()
	env.LockPatience = patience
	dir := filepath.Join(workspace.Canonical(t.TempDir()), "ws")
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	if s.w, err = workspace.Open(env, dir); err != nil {
		t.Fatal(err)
	}
	if s.project, err = s.w.NewProject(t.Context(), "P"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"codex", "claude", "gemini"} {
		if s.agents[name], err = s.w.NewAgent(t.Context(), workspace.AgentSpec{Name: "Worker " + name, Role: "worker", Provider: name}); err != nil {
			t.Fatal(err)
		}
	}
	clean := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"OPENAI_API_KEY", "CODEX_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "PATH"}, name)
	})
	s.starter = &job.Starter{Executable: executable, Environ: slices.Concat(clean, []string{"PATH=" + bin, "GEMINI_API_KEY=key-of-gemini", s.token}, environ)}
	t.Cleanup(func() {
		s.gone()
		if err := s.w.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *stage) spec(id, kind, goal string) doc.JobSpec {
	return doc.JobSpec{
		SchemaVersion: 1, Type: "job", JobID: id, JobKind: doc.JobExecution, WorkerKind: kind, WorkspaceDir: s.w.Dir(), ProjectID: s.project,
		Goal: goal, Constraints: []string{"c1"}, Deliverables: []string{"d1"}, PermissionLevel: "read-only",
		ContextRefs: []doc.ContextRef{{Kind: "note", Value: "n1", Description: "why"}},
	}
}

func (s *stage) submit(spec doc.JobSpec) doc.Job { return s.submitOrder(spec, nil) }

func (s *stage) submitOrder(spec doc.JobSpec, order *doc.JobOrder) doc.Job {
	s.t.Helper()
	record, err := job.Submit(s.t.Context(), s.w, s.starter, spec, order)
	if err != nil {
		s.t.Fatalf("submit: %v", err)
	}
	return record
}

// end waits for the end of a job and checks the invariants of every end.
func (s *stage) end(id string) (doc.Job, job.Results) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	record, err := job.Await(ctx, s.w, s.starter, s.project, id)
	if err != nil {
		s.t.Fatalf("%s: %v: %+v", id, err, record)
	}
	left, err := job.Collect(s.w, s.project, id)
	if err != nil || left.Result == nil || left.Digest == nil {
		s.t.Fatalf("%s: %+v (%v)", id, left, err)
	}
	if (record.Status == doc.JobCanceled) != (left.Result.Status == doc.ResultCanceled) || record.FinalResultRelpath != "jobs/"+id+"/result.json" {
		s.t.Errorf("%s: %s with result %s at %s", id, record.Status, left.Result.Status, record.FinalResultRelpath)
	}
	if left.Result.JobID != id || left.Digest.AttemptRunID != left.Result.AttemptRunID {
		s.t.Errorf("%s: result of %s, run %s, digest of run %s", id, left.Result.JobID, left.Result.AttemptRunID, left.Digest.AttemptRunID)
	}
	s.until("the owner file is gone", func() bool { return !s.w.Exists(".local/jobs/" + s.project + "/" + id + ".owner.json") })
	for _, a := range record.Attempts {
		s.checkAttempt(a)
	}
	return record, left
}

// run submits a job and waits for its end.
func (s *stage) run(spec doc.JobSpec) (doc.Job, job.Results) {
	s.t.Helper()
	record := s.submit(spec)
	return s.end(record.Job.JobID)
}

// checkAttempt checks that an attempt, its run and the run's log agree.
func (s *stage) checkAttempt(a doc.JobAttempt) {
	s.t.Helper()
	if a.Status == doc.AttemptRunning || a.EndedAt == "" || (a.Error == "") != (a.Status == doc.AttemptEnded) {
		s.t.Errorf("attempt %d: %s at %q (%s)", a.Attempt, a.Status, a.EndedAt, a.Error)
	}
	run, err := runs.Load(s.w, s.project, a.RunID)
	if err != nil || !doc.Terminal(run.Status) {
		s.t.Errorf("attempt %d: its run is %s (%v)", a.Attempt, run.Status, err)
	}
	report, err := runs.VerifyLog(s.w, s.project, a.RunID)
	if err != nil || len(report.VerificationIssues)+len(report.RecordIssues) > 0 || len(report.ParseIssues) > s.torn {
		s.t.Errorf("attempt %d: the log is not sound: %+v (%v)", a.Attempt, report, err)
	}
	ends := 0
	for _, kind := range s.events(a.RunID) {
		if events.Terminal(kind) {
			ends++
		}
	}
	if ends != 1 {
		s.t.Errorf("attempt %d: %d ends in its log", a.Attempt, ends)
	}
}

// events returns the event types in a run's log. If a death may have torn lines, it skips
// those.
func (s *stage) events(run string) (types []string) {
	s.t.Helper()
	for line := range strings.Lines(s.file(workspace.LogFile(s.project, run))) {
		if s.torn == 0 || json.Valid([]byte(line)) {
			types = append(types, events.Type([]byte(line)))
		}
	}
	return types
}

func (s *stage) file(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.w.Dir(), name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// prompt returns what the worker of an attempt read.
func (s *stage) prompt(a doc.JobAttempt) string {
	s.t.Helper()
	return s.file(filepath.Join(workspace.RunDir(s.project, a.RunID), "outputs/stdin.txt"))
}

// acts returns how often workers of a job were started.
func (s *stage) acts(id string) int {
	text, _ := os.ReadFile(filepath.Join(s.w.Dir(), "acts-"+id))
	return strings.Count(string(text), "\n")
}

// until waits for a state.
func (s *stage) until(what string, reached func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !reached(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("never: %s", what)
		}
	}
}

// ready waits until the worker of a job's last attempt prints "ready".
func (s *stage) ready(id string) doc.Job {
	s.t.Helper()
	var record doc.Job
	s.until("the worker is ready", func() bool {
		record = s.record(id)
		if last := record.Last(); last != nil {
			text, _ := os.ReadFile(filepath.Join(s.w.Dir(), workspace.RunDir(s.project, last.RunID), "outputs/stdout.txt"))
			return strings.Contains(string(text), "ready")
		}
		return false
	})
	return record
}

// record reads a job's record from its file.
func (s *stage) record(id string) doc.Job {
	s.t.Helper()
	text, err := s.w.Read(workspace.ProjectDir(s.project) + "/jobs/" + id + "/job.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	record, err := doc.JobCodec.Decode(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return record
}

// runner returns the PID of the process that owns a job, or 0.
func (s *stage) runner(id string) int {
	var owner struct {
		PID      int
		Starting bool
	}
	text, err := os.ReadFile(filepath.Join(s.w.Dir(), ".local/jobs", s.project, id+".owner.json"))
	if err != nil || json.Unmarshal(text, &owner) != nil || owner.Starting {
		return 0
	}
	return owner.PID
}

// kill kills the runner of a job.
func (s *stage) kill(id string) {
	s.t.Helper()
	s.litter = true
	pid := s.runner(id)
	if pid == 0 || pid == os.Getpid() {
		s.t.Fatalf("the runner of %s is %d", id, pid)
	}
	if err := proc.Kill(pid); err != nil {
		s.t.Fatal(err)
	}
	s.until("the runner is gone", func() bool { _, alive := proc.Lookup(pid); return !alive })
}

// gone waits until no worker of the stage and no lock of a job is left.
func (s *stage) gone() {
	s.t.Helper()
	s.until("no worker lives", func() bool {
		lives, err := runtimetest.HasProcess(s.token)
		if err != nil {
			s.t.Skip(err)
		}
		return !lives
	})
	s.until("the locks are gone", func() bool {
		locks, err := filepath.Glob(filepath.Join(s.w.Dir(), ".local/locks/job-*"))
		return err == nil && (len(locks) == 0 || s.litter)
	})
}
