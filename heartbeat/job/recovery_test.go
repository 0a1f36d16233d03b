package job_test

// Deaths of runners, and how the next caller recovers their jobs.

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ac/heartbeat/job"
	"ac/internal/durable/faultfs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

var deaths = flag.Int("deaths", 10, "at how many calls of their file system runners die; 0 for all")

func TestRunnerDiesWithItsAttempt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.submit(s.spec("job_i", "codex", "stubborn"))
	s.ready("job_i")
	s.kill("job_i")
	_, left := s.end("job_i")
	if left.Result.Status != doc.ResultFailed || left.Result.Errors[0].Code != job.CodeInterrupted || !left.Digest.Signals.Interrupted || len(left.Result.NextActions) != 1 {
		t.Errorf("%+v", left.Result)
	}
	if s.acts("job_i") != 1 {
		t.Errorf("%d starts", s.acts("job_i"))
	}
	if _, left := s.run(s.spec("job_i", "codex", "good")); left.Result.Status != doc.ResultSucceeded {
		t.Errorf("submitted again: %+v", left.Result)
	}
}

// TestAnswerOutlivesItsRunner kills runners whose workers have answered. A complete answer
// becomes the result, half an answer does not.
func TestAnswerOutlivesItsRunner(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for goal, want := range map[string]string{"answer": doc.ResultSucceeded, "half": doc.ResultFailed} {
		for _, kind := range []string{"codex", "claude", "gemini"} {
			id := "job_" + goal + "_" + kind
			s.submit(s.spec(id, kind, goal))
			s.ready(id)
			s.kill(id)
			record, left := s.end(id)
			if left.Result.Status != want || len(record.Attempts) != 1 || record.Attempts[0].Status != doc.AttemptFailed || s.acts(id) != 1 {
				t.Errorf("%s: %d starts in %+v: %+v", id, s.acts(id), record.Attempts, left.Result)
			}
			if want == doc.ResultSucceeded && (left.Result.AttemptRunID != record.Attempts[0].RunID || *left.Digest.Signals.RetriesUsed != 0) {
				t.Errorf("%s: %+v %+v", id, left.Result, left.Digest.Signals)
			}
		}
	}
}

// TestTakenUpOnce kills a runner before its worker acts. The job resumes once in a new runner,
// with its goal, however many callers list it.
func TestTakenUpOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if err := lane.New(s.w).Cool(t.Context(), "codex", lane.Interactive); err != nil {
		t.Fatal(err)
	}
	s.submit(s.spec("job_u", "codex", "slow 50"))
	s.waiting()
	s.kill("job_u")
	if err := os.Remove(filepath.Join(s.w.Dir(), ".local/lanes/cooldowns.json")); err != nil {
		t.Fatal(err)
	}
	var lookers sync.WaitGroup
	for range 8 {
		w, err := workspace.Open(workspace.SystemEnv(), s.w.Dir())
		if err != nil {
			t.Fatal(err)
		}
		lookers.Go(func() {
			if _, err := job.List(t.Context(), w, s.starter, s.project, job.Filter{Limit: 200}); err != nil {
				t.Error(err)
			}
			_ = w.Close()
		})
	}
	lookers.Wait()
	record, left := s.end("job_u")
	if left.Result.Status != doc.ResultSucceeded || len(record.Attempts) != 2 || s.acts("job_u") != 1 {
		t.Fatalf("%d starts: %+v", s.acts("job_u"), record.Attempts)
	}
	if prompt := s.prompt(record.Attempts[1]); !strings.Contains(prompt, "goal: slow 50") {
		t.Errorf("the goal is lost: %s", prompt)
	}
}

// TestStillbornRunner kills runners before they take their job, both for a submitted job and
// for a resumed one. Callers get no error, and another runner takes the job.
func TestStillbornRunner(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.litter = true
	stillborn := func() *job.Starter {
		starter := *s.starter
		starter.Environ = append(slices.Clone(starter.Environ), stillbornVariable+"="+filepath.Join(t.TempDir(), "once"))
		return &starter
	}
	if record, err := job.Submit(t.Context(), s.w, stillborn(), s.spec("job_s", "codex", "good"), nil); err != nil {
		t.Errorf("submitted: %+v (%v)", record, err)
	}
	s.foreign("job_f", time.Minute)
	owner := filepath.Join(s.w.Dir(), ".local/jobs", s.project, "job_f.owner.json") // of a dead runner
	text := `{"schema_version":1,"type":"job_owner","pid":1073741824,"process_start":"0","acquired_at":"2026-11-20T15:02:47.930Z"}`
	if err := errors.Join(os.MkdirAll(filepath.Dir(owner), 0o750), os.WriteFile(owner, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	if record, err := job.Poll(t.Context(), s.w, stillborn(), s.project, "job_f"); err != nil {
		t.Errorf("taken up: %+v (%v)", record, err)
	}
	for _, id := range []string{"job_s", "job_f"} {
		if record, left := s.end(id); left.Result.Status != doc.ResultSucceeded || len(record.Attempts) != 1 || s.acts(id) != 1 {
			t.Errorf("%s: %d starts: %+v", id, s.acts(id), left.Result)
		}
	}
}

func TestRunnerIsToldToEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.submit(s.spec("job_t", "codex", "sleep"))
	s.ready("job_t")
	pid := s.runner("job_t")
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, left := s.end("job_t"); left.Result.Errors[0].Code != job.CodeInterrupted {
		t.Errorf("%+v", left.Result)
	}
}

func TestTakeUpFindsWhatNobodyLookedAt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.submit(s.spec("job_n", "codex", "stubborn"))
	s.ready("job_n")
	s.run(s.spec("job_o", "codex", "good"))
	s.kill("job_n")
	s.until("the job is taken up", func() bool { // the kernel may hold the dead runner's lock for a moment
		if err := job.ReconcileOwned(t.Context(), s.w, s.starter); err != nil {
			t.Fatal(err)
		}
		return s.record("job_n").Status == doc.JobCompleted
	})
	s.end("job_n")
}

func TestForeignJobs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.foreign("job_new", 29*time.Minute)
	s.foreign("job_old", 31*time.Minute)
	jobs, err := job.List(t.Context(), s.w, s.starter, s.project, job.Filter{Limit: 200})
	if err != nil || len(jobs) != 2 || jobs[0].Status != doc.JobRunning || jobs[1].Status != doc.JobCompleted {
		t.Fatalf("%+v (%v)", jobs, err)
	}
	if _, left := s.end("job_old"); left.Result.Errors[0].Code != job.CodeInterrupted || s.acts("job_old") != 0 {
		t.Errorf("%+v", left.Result)
	}
}

func TestResultOfADeadRunnerCounts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.foreign("job_r", time.Hour)
	file := filepath.Join(s.w.Dir(), workspace.ProjectDir(s.project), "jobs/job_r/result.json")
	text := `{"schema_version":1,"type":"result","job_id":"job_r","attempt_run_id":"none","status":"blocked","summary":"x","files_changed":[],"commands_run":[],"artifacts":[],"next_actions":[],"errors":[]}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, left := s.end("job_r"); left.Result.Status != doc.ResultBlocked || left.Result.Summary != "x" {
		t.Errorf("%+v", left.Result)
	}
}

// TestLookerDies kills a process at its file system calls while it reconciles a job whose
// runner was killed after its worker acted. The next process reconciles the job and does not
// start the worker again.
func TestLookerDies(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.litter = true
	const last = 220
	points := rand.New(rand.NewPCG(3, uint64(time.Now().UnixNano()))).Perm(last)
	if *deaths > 0 {
		points = points[:*deaths]
	}
	for _, n := range points {
		id := fmt.Sprintf("job_l%d", n+1)
		s.submit(s.spec(id, "codex", "stubborn"))
		running := s.ready(id)
		s.kill(id)
		s.until("the session is over", func() bool {
			left, err := session.Read(s.w, running.Last().SessionRef)
			return err == nil && !session.Live(s.w, left)
		})
		plan := faultfs.NewPlan(n+1, faultfs.Death)
		env := workspace.SystemEnv()
		env.OpenFS, env.PID = plan.Open, 1<<30 // a PID that nobody has
		w, err := workspace.Open(env, s.w.Dir())
		if err == nil {
			s.until("a look finds the lock free", func() bool { // the kernel may hold the dead runner's lock for a moment
				record, err := job.Poll(t.Context(), w, s.starter, s.project, id) // usually dies
				return err != nil || record.Over() || plan.Hit() != ""
			})
			_ = w.Close()
		}
		hit := plan.Hit()
		if err := plan.CloseAll(); err != nil {
			t.Error(err)
		}
		s.torn = 0
		if strings.Contains(hit, ", write ") && strings.Contains(hit, "/events.jsonl") {
			s.torn = 1 // a torn write: half of the data is written
		}
		record, left := s.end(id)
		if left.Result.Status != doc.ResultFailed || left.Result.Errors[0].Code != job.CodeInterrupted || len(record.Attempts) != 1 || s.acts(id) != 1 {
			t.Errorf("%s, %s: %d starts in attempts %+v: %+v", id, hit, s.acts(id), record.Attempts, left.Result)
		}
		t.Logf("%s: %s", id, hit)
	}
}

// TestDeathAtAnyCall kills runners at their file system calls. Each job still ends once, its
// worker starts at most once, and a job whose worker never acted is not lost.
func TestDeathAtAnyCall(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.litter = true
	const last = 350
	points := rand.New(rand.NewPCG(2, uint64(time.Now().UnixNano()))).Perm(last)
	if *deaths > 0 {
		points = points[:*deaths]
	}
	for _, n := range points {
		id := fmt.Sprintf("job_%d", n+1)
		dying := *s.starter
		dying.Environ = append(slices.Clone(dying.Environ), fmt.Sprintf("%s=%d", dyingVariable, n+1))
		if _, err := job.Submit(t.Context(), s.w, &dying, s.spec(id, "codex", "good"), nil); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		record, left := s.end(id)
		code := ""
		if len(left.Result.Errors) > 0 {
			code = left.Result.Errors[0].Code
		}
		switch {
		case left.Result.Status == doc.ResultSucceeded:
		case code == job.CodeRunnerError && len(record.Attempts) == 0: // it never owned the job
		case code == job.CodeInterrupted && len(record.Attempts) > 0:
		default:
			t.Errorf("%s: %+v", id, left.Result)
		}
		text, _ := os.ReadFile(filepath.Join(s.w.Dir(), "acts-"+id))
		acted := strings.Fields(string(text))
		slices.Sort(acted)
		if len(slices.Compact(slices.Clone(acted))) != len(acted) || len(acted) > 1 {
			t.Errorf("%s: started for %v", id, acted)
		}
		t.Logf("%s: %s %s, %d attempts, %d starts", id, left.Result.Status, code, len(record.Attempts), len(acted))
	}
}
