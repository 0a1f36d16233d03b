package job_test

// Canceling jobs in each state and at random moments.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/runs/lane"
	"ac/workspace/doc"
)

func (s *stage) cancel(id string) doc.Job {
	s.t.Helper()
	record, err := job.Cancel(s.t.Context(), s.w, s.starter, s.project, id)
	if err != nil || !record.CancellationRequested {
		s.t.Fatalf("cancel: %+v (%v)", record, err)
	}
	return record
}

// canceled waits for the end of a canceled job and checks it.
func (s *stage) canceled(id string) (doc.Job, job.Results) {
	s.t.Helper()
	record, left := s.end(id)
	if record.Status != doc.JobCanceled || !record.CancellationRequested || !left.Digest.Signals.Canceled {
		s.t.Errorf("%s: %+v %+v", id, record, left.Result)
	}
	if len(left.Result.Errors)+len(left.Digest.Errors) > 0 {
		s.t.Errorf("%s: an end that was asked for is reported as an error: %+v", id, left.Result.Errors)
	}
	if last := record.Last(); last != nil && (last.Status != doc.AttemptStopped || last.Error == "") {
		s.t.Errorf("%s: the last attempt is %+v", id, *last)
	}
	return record, left
}

func TestCancelRunning(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, how := range []string{"sleep", "stubborn"} {
		s.submit(s.spec("job_"+how, "codex", how))
		s.ready("job_" + how)
		if record := s.cancel("job_" + how); record.Over() {
			t.Errorf("%s: over already", how)
		}
		record, left := s.canceled("job_" + how)
		if len(record.Attempts) != 1 || left.Result.AttemptRunID != record.Attempts[0].RunID {
			t.Errorf("%s: %+v", how, left.Result)
		}
	}
}

func TestCancelBeforeTheLaunch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if err := lane.New(s.w).Cool(t.Context(), "codex", lane.Interactive); err != nil {
		t.Fatal(err)
	}
	s.submit(s.spec("job_q", "codex", "good"))
	s.waiting()
	s.cancel("job_q")
	if record, _ := s.canceled("job_q"); len(record.Attempts) != 1 || s.acts("job_q") != 0 {
		t.Errorf("%+v", record)
	}
}

// waiting waits until a launch waits in the lane.
func (s *stage) waiting() {
	s.t.Helper()
	s.until("a launch waits", func() bool {
		tickets, err := filepath.Glob(filepath.Join(s.w.Dir(), ".local/lanes/launch-*.waiting"))
		return err == nil && len(tickets) > 0
	})
}

func TestCancelBetweenAttempts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.submit(s.spec("job_b", "codex", "fail 429 Too Many Requests"))
	s.until("the second attempt", func() bool { return s.record("job_b").CurrentAttempt == 2 })
	s.waiting() // for the cooldown that the first attempt caused
	if until, ok, err := lane.New(s.w).Cooldown("codex"); err != nil || !ok || time.Until(until) < 4*time.Minute {
		t.Errorf("the cooldown lasts until %v, %v (%v)", until, ok, err)
	}
	s.cancel("job_b")
	record, _ := s.canceled("job_b")
	if len(record.Attempts) != 2 || record.Attempts[0].Status != doc.AttemptFailed || s.acts("job_b") != 1 {
		t.Errorf("%+v", record.Attempts)
	}
}

func TestCancelTheThirdAttempt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.submit(s.spec("job_3", "codex", "third"))
	s.until("the third attempt runs", func() bool { return s.record("job_3").CurrentAttempt == 3 })
	s.ready("job_3")
	s.cancel("job_3")
	if record, _ := s.canceled("job_3"); len(record.Attempts) != 3 {
		t.Errorf("%+v", record.Attempts)
	}
}

func TestCancelWhatIsOver(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run(s.spec("job_o", "codex", "good"))
	if record := s.cancel("job_o"); record.Status != doc.JobCompleted {
		t.Errorf("%+v", record)
	}
	if record, left := s.end("job_o"); !record.CancellationRequested || left.Result.Status != doc.ResultSucceeded {
		t.Errorf("%+v", record)
	}
	if _, err := job.Cancel(t.Context(), s.w, s.starter, s.project, "job_none"); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown job: %v", err)
	}
}

func TestCancelWithoutRunner(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.submit(s.spec("job_d", "codex", "stubborn"))
	s.ready("job_d")
	s.kill("job_d")
	s.cancel("job_d")
	s.canceled("job_d")
}

// TestCancelAtAnyMoment cancels jobs at random moments. A job that completes anyway has
// succeeded, and no attempt starts its worker twice.
func TestCancelAtAnyMoment(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for i := range 8 {
		id := fmt.Sprintf("job_%d", i)
		s.submit(s.spec(id, "codex", "slow 60"))
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond) // a random moment
		s.cancel(id)
		record, left := s.end(id)
		if record.Status == doc.JobCompleted && left.Result.Status != doc.ResultSucceeded {
			t.Errorf("%s: %+v", id, left.Result)
		}
		if s.acts(id) > len(record.Attempts) {
			t.Errorf("%s: %d starts in %d attempts", id, s.acts(id), len(record.Attempts))
		}
	}
}

func TestCancelSavesTheFlagOfForeignJobs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.foreign("job_f", time.Minute)
	if record := s.cancel("job_f"); record.Over() {
		t.Errorf("another program's job was ended: %+v", record)
	}
}

// foreign writes the record of another program's job, last changed age ago.
func (s *stage) foreign(id string, age time.Duration) {
	s.t.Helper()
	spec := s.spec(id, "codex", "good")
	record := doc.Job{
		SchemaVersion: 1, Type: "job_record", Job: spec, CreatedAt: "2026-11-20T15:02:47.930Z", UpdatedAt: "2026-11-20T15:02:47.930Z",
		Status: doc.JobRunning, Attempts: []doc.JobAttempt{},
	}
	text, err := doc.JobCodec.Encode(record)
	if err != nil {
		s.t.Fatal(err)
	}
	if strings.Contains(string(text), "final_result") {
		s.t.Fatal("an active record names a result")
	}
	file := filepath.Join(s.w.Dir(), "work/projects", s.project, "jobs", id, "job.yaml")
	at := time.Now().Add(-age)
	for _, err := range []error{os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644), os.Chtimes(file, at, at)} {
		if err != nil {
			s.t.Fatal(err)
		}
	}
}
