package main

// Jobs on other machines whose runner, hub or worker dies, or that are canceled in between.

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ac/fleet"
	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// killRunner kills the runner of a job and waits until it is gone.
func (j *jobs) killRunner(id string) {
	j.t.Helper()
	var owner struct {
		PID int `json:"pid"`
	}
	text, err := os.ReadFile(j.ownerFile(id))
	if err == nil {
		err = json.Unmarshal(text, &owner)
	}
	if err == nil {
		err = syscall.Kill(owner.PID, syscall.SIGKILL)
	}
	if err != nil {
		record, pollErr := job.Poll(j.t.Context(), j.w, j.starter, j.project, id)
		left, _ := job.Collect(j.w, j.project, id)
		j.t.Fatalf("%v: %+v %+v (%v)", err, record.Attempts, left.Result, pollErr)
	}
	j.until("the runner is gone", func() bool { _, alive := proc.Lookup(owner.PID); return !alive })
}

// placed reports whether the newest attempt of a job has its session.
func (j *jobs) placed(id string) bool {
	j.t.Helper()
	record, err := job.Poll(j.t.Context(), j.w, j.starter, j.project, id)
	if err != nil {
		j.t.Fatal(err)
	}
	if record.Over() {
		left, err := job.Collect(j.w, j.project, id)
		j.t.Fatalf("it is over: %+v: %v", left.Result, err)
	}
	if record.Last() == nil {
		return false
	}
	_, err = session.Read(j.w, record.Last().SessionRef)
	return err == nil
}

func (j *jobs) ownerFile(id string) string {
	return filepath.Join(j.w.Dir(), filepath.FromSlash(workspace.JobOwnerFile(j.project, id)))
}

// hasRunner reports whether a job has a live runner.
func (j *jobs) hasRunner(id string) bool {
	var owner struct {
		PID int `json:"pid"`
	}
	text, err := os.ReadFile(j.ownerFile(id))
	if err != nil || json.Unmarshal(text, &owner) != nil || owner.PID == 0 {
		return false
	}
	_, alive := proc.Lookup(owner.PID)
	return alive
}

// TestAJobGoesOnWithoutItsRunner checks that a job survives the death of its runner, the hub and
// the worker process. Its agent is started once.
func TestAJobGoesOnWithoutItsRunner(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	j := c.jobs()
	c.hire("box", 2)
	j.submit("one", "wait for a sign", doc.JobOrder{Placement: remote()})
	j.held("one")
	j.killRunner("one")
	c.kill(c.hub)
	c.kill(c.workers["box"])
	if record, err := job.Poll(t.Context(), c.w, j.starter, j.project, "one"); err != nil || record.Over() {
		t.Errorf("%+v: %v", record, err)
	}
	c.startHub()
	c.startWorker("box")
	j.sign()
	record, left := j.finished("one")
	if left.Result.Status != doc.ResultSucceeded || len(record.Attempts) != 1 || j.started() != 1 {
		t.Errorf("%+v\n%+v\n%d starts", record, left.Result, j.started())
	}
}

// TestACanceledJobStopsItsWorker checks that canceling a job stops its session on the worker, even
// if the hub is down at the time.
func TestACanceledJobStopsItsWorker(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	j := c.jobs()
	c.hire("box", 2)
	j.submit("one", "wait for a sign", doc.JobOrder{Placement: remote()})
	attempt := j.held("one")
	c.kill(c.hub)
	if _, err := job.Cancel(t.Context(), c.w, j.starter, j.project, "one"); !fault.Is(err, fault.HubNotRunning) {
		t.Errorf("without a hub: %v", err)
	}
	c.startHub()
	record, _ := j.finished("one")
	s, err := session.Read(c.w, attempt.SessionRef)
	if err != nil || s.Status != doc.StatusStopped || record.Status != doc.JobCanceled {
		t.Errorf("%+v: %+v: %v", record, s, err)
	}
}

// TestALostWorkerCostsAnAttempt checks that the next attempt runs on another worker.
func TestALostWorkerCostsAnAttempt(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "--lease", "2s", "--lease-margin", "6s")
	j := c.jobs()
	c.hire("box", 1)
	j.submit("one", "wait for a sign", doc.JobOrder{Placement: &doc.Placement{Where: doc.WhereRemote, LeaseS: 2, OnCutOff: doc.CutOffStop}})
	first := j.held("one")
	box := c.workers["box"]
	_ = box.cmd.Process.Signal(syscall.SIGSTOP)
	c.until("the session is lost", func() bool {
		s, err := session.Read(c.w, first.SessionRef)
		return err == nil && doc.Terminal(s.Status)
	})
	j.sign()
	c.hire("crate", 1)
	record, left := j.finished("one")
	_ = box.cmd.Process.Signal(syscall.SIGCONT)
	if left.Result.Status != doc.ResultSucceeded || len(record.Attempts) != 2 || !strings.Contains(record.Attempts[0].Error, "worker") {
		t.Errorf("%+v\n%+v", record, left.Result)
	}
	c.until("the box is idle", func() bool {
		var list fleet.WorkersResult
		c.ask(fleet.HubWorkers, struct{}{}, &list)
		return list.Workers[0].Online && list.Workers[0].Used == 0
	})
}

// TestJobsWhileEveryoneDies kills hubs, workers and runners while jobs run. Each job gets its
// result, and no attempt starts its agent twice.
func TestJobsWhileEveryoneDies(t *testing.T) {
	t.Parallel()
	const many = 3
	c := newCompany(t)
	j := c.jobs()
	c.hire("one", 2)
	c.hire("two", 2)
	for i := range many {
		j.submit("job"+strconv.Itoa(i), "wait for a sign", doc.JobOrder{Placement: remote()})
	}
	random := rand.New(rand.NewPCG(*seed, 3))
	for range *kills {
		switch random.IntN(3) {
		case 0:
			c.kill(c.hub)
			c.startHub()
		case 1:
			name := []string{"one", "two"}[random.IntN(2)]
			c.kill(c.workers[name])
			c.startWorker(name)
		case 2:
			id := "job" + strconv.Itoa(random.IntN(many))
			c.until("the session is placed", func() bool { return j.placed(id) }) // a death before that costs an attempt
			j.killRunner(id)
			c.until("another runner has the job", func() bool {
				_, err := job.Poll(t.Context(), c.w, j.starter, j.project, id)
				if err != nil {
					t.Fatal(err)
				}
				return j.hasRunner(id)
			})
		}
	}
	j.sign()
	attempts := 0
	for i := range many {
		record, left := j.finished("job" + strconv.Itoa(i))
		if left.Result.Status != doc.ResultSucceeded {
			t.Errorf("%+v\n%+v", record, left.Result)
		}
		attempts += len(record.Attempts)
		for _, a := range record.Attempts {
			c.log(session.Order{ProjectID: j.project, RunID: a.RunID})
		}
	}
	if j.started() > attempts {
		t.Errorf("%d starts of %d attempts", j.started(), attempts)
	}
}
