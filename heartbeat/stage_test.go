package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ac/events"
	"ac/index"
	"ac/internal/clock"
	"ac/internal/durable/faultfs"
	"ac/internal/ulid"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
)

// hand is a clock that tests set by hand.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// noon is a stage's start time: outside quiet hours, and later than any file on this machine.
func noon() time.Time { return time.Date(2036, 11, 20, 12, 0, 0, 0, time.UTC) }

// stage is a company whose workers answer at once, or as the test decides.
type stage struct {
	hand    *hand
	plan    *faultfs.Plan
	pid     int // PID of the process that the stage simulates
	dir     string
	project string
	agents  []string
	w       *workspace.Workspace
	ix      *index.Index
	jobs    *fakeJobs
	loop    *Loop
}

func newStage(t testing.TB, workers int) *stage {
	t.Helper()
	s := &stage{hand: &hand{now: noon()}, dir: filepath.Join(t.TempDir(), "ws"), jobs: &fakeJobs{}, pid: os.Getpid()}
	if err := workspace.Init(t.Context(), s.env(nil), s.dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	s.open(t)
	var err error
	if s.project, err = s.w.NewProject(t.Context(), "P"); err != nil {
		t.Fatal(err)
	}
	for i := range workers {
		id, err := s.w.NewAgent(t.Context(), workspace.AgentSpec{Name: fmt.Sprintf("W%d", i), Role: "worker", Provider: "codex"})
		if err != nil {
			t.Fatal(err)
		}
		s.agents = append(s.agents, id)
	}
	return s
}

func (s *stage) env(plan *faultfs.Plan) workspace.Env {
	if plan == nil {
		plan = faultfs.NewPlan(0, faultfs.Broken)
	}
	env := workspace.SystemEnv()
	env.PID = s.pid
	env.Clock, env.IDs, env.OpenFS = clock.New(s.hand.Now, 0), ulid.NewSource(s.hand.Now), plan.Open
	s.plan = plan
	return env
}

// open opens the workspace as a separate process would.
func (s *stage) open(t testing.TB) {
	t.Helper()
	w, err := workspace.Open(s.env(nil), s.dir)
	if err != nil {
		t.Fatal(err)
	}
	s.w, s.ix = w, index.For(w)
	ix := s.ix
	s.loop = NewLoop(Options{
		Clock: w.Env.Clock, Dir: s.dir, Jobs: s.jobs,
		Open: func(context.Context) (*workspace.Workspace, *index.Index, error) { return w, ix, nil },
	})
	loop := s.loop
	t.Cleanup(func() {
		loop.Close()
		if err := errors.Join(ix.Close(), w.Close()); err != nil && !errors.Is(err, faultfs.ErrDead) {
			t.Error(err)
		}
	})
}

func (s *stage) tick(t testing.TB) Summary {
	t.Helper()
	summary, err := s.loop.Tick(t.Context(), Order{WorkspaceDir: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

func (s *stage) set(t testing.TB, change func(*doc.HeartbeatConfig)) {
	t.Helper()
	if _, err := SetConfig(t.Context(), s.w, change); err != nil {
		t.Fatal(err)
	}
}

// state reads the state from its file.
func (s *stage) state(t testing.TB) doc.HeartbeatState {
	t.Helper()
	state, err := ReadState(s.w)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// happen creates a run of an agent, which is news to the next tick.
func (s *stage) happen(t testing.TB, agent string) string {
	t.Helper()
	run, err := runs.Create(t.Context(), s.w, s.project, agent, "codex")
	if err != nil {
		t.Fatal(err)
	}
	draft, err := s.w.Events.Draft(events.Draft{RunID: run.RunID, SessionRef: "local_" + run.RunID, Actor: agent, Visibility: "team", Type: "provider.raw"}, struct{}{})
	if err == nil {
		err = s.w.Append(t.Context(), workspace.LogFile(s.project, run.RunID), draft)
	}
	if err != nil {
		t.Fatal(err)
	}
	return run.RunID
}

// files returns the names of the files that match a pattern.
func (s *stage) files(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.dir, filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func (s *stage) comments(t testing.TB) int { return len(s.files(t, "inbox/comments/*.yaml")) }
func (s *stage) proposals(t testing.TB) int {
	return len(s.files(t, "work/projects/*/artifacts/*.md"))
}

// fakeJobs records jobs that nobody runs. A heartbeat job is over at once with its worker's
// answer, unless the worker stalls.
type fakeJobs struct {
	mu      sync.Mutex
	answer  func(worker string) string
	stalls  map[string]bool
	started int
	waits   func(ctx context.Context) error
}

const allWellText = `{"schema_version":1,"type":"heartbeat_worker_report","status":"ok","token":"HEARTBEAT_OK","summary":"s"}`

// actions returns a report with actions given as JSON.
func actions(list ...string) string {
	text := `{"schema_version":1,"type":"heartbeat_worker_report","status":"actions","summary":"s","actions":[`
	for i, action := range list {
		if i > 0 {
			text += ","
		}
		text += action
	}
	return text + "]}"
}

func (f *fakeJobs) Enqueue(u *workspace.Unit, spec doc.JobSpec) (id string, start func(context.Context) error, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := u.Workspace()
	id = w.Env.IDs.New("job")
	spec.JobID = id
	now := clock.Stamp(w.Env.Clock.Now())
	record := doc.Job{SchemaVersion: 1, Type: "job_record", Job: spec, CreatedAt: now, UpdatedAt: now, Status: doc.JobQueued, Attempts: []doc.JobAttempt{}}
	dir := workspace.ProjectDir(spec.ProjectID) + "/jobs/" + id
	if spec.JobKind == doc.JobHeartbeat {
		run := w.Env.IDs.New("run")
		record.Status, record.CurrentAttempt = doc.JobRunning, 1
		record.Attempts = []doc.JobAttempt{{
			Attempt: 1, RunID: run, ContextPackID: "ctx_x", SessionRef: "job_" + id + "_attempt_1_" + run, WorkerKind: spec.WorkerKind,
			WorkerAgentID: spec.WorkerAgentID, Provider: "codex", StartedAt: now, Status: doc.AttemptRunning,
		}}
		if !f.stalls[spec.WorkerAgentID] {
			record.Status, record.Attempts[0].Status, record.FinalResultRelpath = doc.JobCompleted, doc.AttemptEnded, "jobs/"+id+"/result.json"
			answer := allWellText
			if f.answer != nil {
				answer = f.answer(spec.WorkerAgentID)
			}
			if err := u.Write(dir+"/heartbeat_report.json", []byte(answer), 0o644); err != nil {
				return "", nil, err
			}
		}
	}
	text, err := doc.JobCodec.Encode(record)
	if err != nil {
		return "", nil, err
	}
	return id, func(context.Context) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.started++
		return nil
	}, u.Write(dir+"/job.yaml", text, 0o644)
}

func (f *fakeJobs) Poll(_ context.Context, w *workspace.Workspace, project, id string) (doc.Job, error) {
	return workspace.Load(w, doc.JobCodec, workspace.ProjectDir(project)+"/jobs/"+id+"/job.yaml")
}

func (f *fakeJobs) Await(ctx context.Context, w *workspace.Workspace, project, id string) (doc.Job, error) {
	record, err := f.Poll(ctx, w, project, id)
	if err == nil && !record.Over() && f.waits != nil {
		err = f.waits(ctx)
	}
	return record, err
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}
