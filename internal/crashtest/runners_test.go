package crashtest

// Job runners that are killed at random moments, and the invariants of their jobs.

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/heartbeat/job"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/runs"
	"ac/workspace/doc"
)

// actsVariable names the folder in which workers record their starts.
const actsVariable = "AC_TEST_ACTS"

// act records the start of a worker as one line, in one write.
func act(job, run string) error {
	f, err := os.OpenFile(filepath.Join(os.Getenv(actsVariable), job), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(run + "\n"); err != nil {
		return err
	}
	return f.Close()
}

// acts returns the runs for which workers of a job were started.
func (g *ground) acts(job string) []string {
	text, _ := os.ReadFile(filepath.Join(g.actsDir, job)) // none is fine
	return strings.Fields(string(text))
}

// runnerKiller returns a function that kills a runner at a random moment, if one is
// alive then.
func (g *ground) runnerKiller(r *rand.Rand) func() {
	after, pick := moment(r), rand.New(rand.NewPCG(r.Uint64(), 3))
	return func() {
		time.Sleep(after) // the random moment itself
		g.killRunner(pick)
	}
}

func (g *ground) killRunner(r *rand.Rand) {
	files, err := filepath.Glob(filepath.Join(g.dir, ".local/jobs/*/*.owner.json"))
	if err != nil {
		g.t.Error(err)
	}
	r.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	for _, file := range files {
		var owner struct {
			PID      int    `json:"pid"`
			Start    string `json:"process_start"`
			Starting bool   `json:"starting"`
		}
		// Files come and go. A starting owner is a server, not a runner.
		text, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(text, &owner) != nil || owner.Starting {
			continue
		}
		if (proc.Identity{PID: owner.PID, Start: owner.Start}).Signal(os.Kill) == nil {
			g.ledger.killedRunner()
			return
		}
	}
}

// jobs waits until all jobs have ended. It replaces lost runners.
func (s *survey) jobs() {
	s.t.Helper()
	starter := &job.Starter{Executable: s.g.executable, Environ: s.g.environ}
	for _, project := range s.projects() {
		all, err := job.All(s.w, project)
		s.must(err)
		for _, record := range all {
			id := record.Job.JobID
			if record, err = job.Await(s.ctx, s.w, starter, project, id); err != nil || record.Status != doc.JobCompleted {
				s.t.Errorf("job %s: %s (%v)", id, record.Status, err)
				continue
			}
			s.job(project, record)
			s.seen[name("job", project, id)] = true
		}
	}
}

// job checks the record of an ended job against its result, its attempts' runs and
// the starts of its worker. No job may start its worker twice.
func (s *survey) job(project string, record doc.Job) {
	s.t.Helper()
	id := record.Job.JobID
	left, err := job.Collect(s.w, project, id)
	if err != nil || left.Result == nil || left.Digest == nil || left.Result.JobID != id || left.Digest.Status != left.Result.Status {
		s.t.Errorf("job %s: %+v (%v)", id, left, err)
		return
	}
	acted, code := s.g.acts(id), ""
	if len(left.Result.Errors) > 0 {
		code = left.Result.Errors[0].Code
	}
	switch attempts := len(record.Attempts); {
	case left.Result.Status == doc.ResultSucceeded && slices.Equal(acted, []string{left.Result.AttemptRunID}):
	case code == job.CodeInterrupted && attempts > 0 && len(acted) <= 1:
	case code == job.CodeRunnerError && attempts == 0 && len(acted) == 0: // it never owned the job
	default:
		s.t.Errorf("job %s: started for %v: %+v", id, acted, left.Result)
	}
	made := map[string]bool{}
	for i, a := range record.Attempts {
		made[a.RunID] = true
		run, err := runs.Load(s.w, project, a.RunID)
		over := doc.Terminal(run.Status) && a.Status != doc.AttemptRunning && a.EndedAt != ""
		if err != nil || !over || a.Attempt != i+1 || (a.Status == doc.AttemptEnded) != (run.Status == doc.StatusEnded) {
			s.t.Errorf("job %s: %s run in attempt %+v (%v)", id, run.Status, a, err)
		}
	}
	for _, run := range acted {
		if !made[run] {
			s.t.Errorf("job %s: started for %s, which is no attempt", id, run)
		}
	}
	if len(made) != len(record.Attempts) {
		s.t.Errorf("job %s: two attempts of one run: %+v", id, record.Attempts)
	}
}

// released waits until no process holds a kernel lock of the workspace, whose sessions
// and jobs have ended. It then checks that no job has an owner.
func (s *survey) released() {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.w.Dir(), ".local/locks/*"))
	s.must(err)
	for _, file := range files {
		until(s.t, file+" is free", func() bool {
			busy, err := lock.Busy(s.w.FS, ".local/locks/"+filepath.Base(file))
			s.must(err)
			return !busy
		})
	}
	s.must(s.w.Recover(s.ctx))                                                           // a runner may have been killed within its last unit
	owners, err := filepath.Glob(filepath.Join(s.w.Dir(), ".local/jobs/*/*.owner.json")) // does not match the leftovers of killed writes
	s.must(err)
	if len(owners) > 0 {
		s.t.Errorf("jobs that are over have owners: %v", owners)
	}
}

// alone waits until this is the only process of the test binary: no server,
// supervisor, runner or guard is left.
func alone(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	until(t, "every process is gone", func() bool {
		programs, err := filepath.Glob("/proc/[0-9]*/exe")
		if err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(programs, func(program string) bool {
			executable, err := os.Readlink(program)
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(program)))
			return err == nil && executable == self && pid != os.Getpid()
		})
	})
}

// until waits for a condition, at most a minute.
func until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !reached(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("never: %s", what)
			return
		}
	}
}
