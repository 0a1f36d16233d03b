package worker

// Workers that die at each step between an order and its end. No session is started twice, and
// nothing is lost.

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ac/fleet"
	"ac/runs/session"
	"ac/workspace/doc"
)

// lastStep is a starter that simulates the death of the worker's process during Launch.
type lastStep struct {
	Starter
	after   bool // die after the supervisor was started, not before
	reached chan session.Order
	die     chan struct{}
	once    sync.Once
}

var errDead = errors.New("the process is dead")

func (l *lastStep) Launch(ctx context.Context, order session.Order) error {
	if l.after {
		if err := l.Starter.Launch(ctx, order); err != nil {
			return err
		}
	}
	l.once.Do(func() { l.reached <- order })
	<-l.die
	return errDead
}

// dieAt runs a worker that dies while it starts an order. It returns the order with which the
// supervisor was started, or would have been.
func (s *site) dieAt(o fleet.Order, after bool) session.Order {
	s.t.Helper()
	step := &lastStep{after: after, reached: make(chan session.Order, 1), die: make(chan struct{})}
	s.starter = func(own Starter) Starter { step.Starter = own; return step }
	s.begin()
	s.hub.order(o)
	order := <-step.reached
	s.hub.do(func() { s.hub.cut = true }) // a dead process sends nothing
	s.stopped()
	close(step.die)
	if err := s.end(); err != nil {
		s.t.Fatal(err)
	}
	s.starter = nil
	s.hub.mend()
	return order
}

// state returns the recorded state of an attempt, or "" without a record.
func (s *site) state(o fleet.Order) string {
	s.t.Helper()
	text, err := os.ReadFile(s.dir + "/" + recordFile(o.Attempt))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for _, state := range []string{stateTaken, stateClaimed, stateStarting, stateStarted, stateOver, stateSettled} {
		if strings.Contains(string(text), `"state":"`+state+`"`) {
			return state
		}
	}
	return "?"
}

// givesUp runs a worker that finds an attempt that was never started, and waits until the worker
// has released it.
func (s *site) givesUp(o fleet.Order) {
	s.t.Helper()
	var before int // the dead worker may have acknowledged it
	s.hub.do(func() { before = s.hub.acked[o.Attempt] })
	s.begin()
	s.hub.order(o) // redelivered, or never acknowledged
	s.hub.until("it is given up", func() bool {
		return len(s.hub.attempts[o.Attempt].gaveUp) > 0 && s.hub.acked[o.Attempt] > before
	})
	s.hub.until("it is forgotten, however often it came", func() bool { return s.state(o) == "" })
	if err := s.end(); err != nil {
		s.t.Fatal(err)
	}
	if left := s.state(o); left != "" || s.started() != 0 {
		s.t.Errorf("it is %s, and was started %d times", left, s.started())
	}
}

func TestDeathBeforeTheClaimWasAnswered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := s.order("true")
	s.begin()
	s.hub.until("a beat", func() bool { return s.hub.beats > 0 })
	s.hub.do(func() { s.hub.deaf = true })
	s.hub.order(o)
	s.hub.until("it was asked", func() bool { return s.hub.unheard > 0 })
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if at := s.state(o); at != stateTaken {
		t.Fatalf("it is %s", at)
	}
	s.hub.do(func() { s.hub.deaf = false })
	s.givesUp(o)
}

func TestDeathBetweenClaimAndStart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	reached := t.TempDir() + "/reached"
	s.configure(func(c *Config) {
		c.Secrets = map[string]Secret{"slow": {Command: []string{"/bin/sh", "-c", "touch " + reached + "; exec sleep 600"}}}
	})
	o := s.order("true")
	o.SecretRefs = map[string]string{"A": "slow"}
	s.begin()
	s.hub.order(o)
	s.exists(reached)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if at := s.state(o); at != stateClaimed {
		t.Fatalf("it is %s", at)
	}
	s.givesUp(o)
}

// TestOrderedAgainMeanwhile sends a worker the next order for a session that it gave up. The worker
// puts the order back until it may forget the previous attempt.
func TestOrderedAgainMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := s.order("echo one")
	s.dieAt(o, false)
	s.hub.do(func() { s.hub.attempt(o.Attempt).waits = true })
	s.begin()
	s.hub.until("it is given up", func() bool { return len(s.hub.attempts[o.Attempt].gaveUp) > 0 })
	again := o
	again.Epoch++
	again.Attempt = fleet.Attempt(o.ProjectID, o.RunID, o.SessionRef, again.Epoch)
	s.hub.order(again)
	s.hub.until("the order is put back", func() bool { return s.hub.putBack[again.Attempt] > 1 })
	s.hub.do(func() { s.hub.attempt(o.Attempt).waits = false })
	if end := s.settled(again); end.Status != doc.StatusEnded || s.text(again) != "one\n" || s.started() != 1 {
		t.Errorf("%s, %q, started %d times", end.Status, s.text(again), s.started())
	}
	if len(s.text(o)) > 0 || s.state(o) != "" {
		t.Errorf("the attempt before is %s, and said %q", s.state(o), s.text(o))
	}
}

func TestDeathBeforeTheSupervisorStarted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := s.order("true")
	late := s.dieAt(o, false)
	if at := s.state(o); at != stateStarting {
		t.Fatalf("it is %s", at)
	}
	s.givesUp(o)
	// A supervisor that the dead process had just started comes up only now.
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := (Supervisors{Executable: executable}).Launch(t.Context(), late); err == nil || s.started() != 0 {
		t.Errorf("it was started after it was given up: %v", err)
	}
}

func TestDeathAfterTheSupervisorStarted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := t.TempDir()
	o := s.order("echo one; " + waitFor(dir+"/end") + "; echo two")
	s.dieAt(o, true)
	s.begin()
	touch(t, dir+"/end")
	if end := s.settled(o); end.Status != doc.StatusEnded || s.text(o) != "one\ntwo\n" || s.started() != 1 {
		t.Errorf("%s, %q, started %d times", end.Status, s.text(o), s.started())
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if gave := s.hub.attempts[o.Attempt].gaveUp; len(gave) > 0 {
		t.Errorf("it was given up: %+v", gave)
	}
}

func TestDeathOfTheSupervisor(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"while the worker runs": false, "while it is away": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			o := s.order("echo one; exec sleep 600")
			s.begin()
			s.hub.order(o)
			s.hub.until("the first line", func() bool { return s.said(o) == "one\n" })
			record, err := session.Read(s.folder.Spool, o.SessionRef)
			if err != nil {
				t.Fatal(err)
			}
			if restart {
				if err := s.end(); err != nil {
					t.Fatal(err)
				}
			}
			if err := syscall.Kill(*record.OwnerPID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if restart {
				s.begin()
			}
			if end := s.settled(o); end.Status != doc.StatusFailed || !end.Orphaned || s.text(o) != "one\n" || s.started() != 1 {
				t.Errorf("%+v, %q, started %d times", end, s.text(o), s.started())
			}
		})
	}
}

func TestDeathBeforeTheEndIsSettled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := s.order("echo one")
	s.hub.do(func() { s.hub.attempt(o.Attempt).keepOpen = true })
	s.begin()
	s.hub.order(o)
	s.settled(o)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if at := s.state(o); at != stateOver {
		t.Fatalf("it is %s", at)
	}
	s.hub.do(func() { // the hub loses its object store and its copy of drafts and end
		s.hub.objects, s.hub.attempts[o.Attempt].end, s.hub.attempts[o.Attempt].drafts, s.hub.attempts[o.Attempt].keepOpen = map[string][]byte{}, nil, nil, false
	})
	s.begin()
	if end := s.settled(o); s.text(o) != "one\n" || s.files(end.Results.Outputs)["stdout.txt"] != "one\n" {
		t.Errorf("%q, %+v", s.text(o), end)
	}
	for s.state(o) != stateSettled {
		if t.Context().Err() != nil {
			t.Fatal("it is never settled")
		}
	}
}

func TestExecutedSessionIsNeverStartedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.begin()
	o := s.order("true")
	s.hub.order(o)
	s.settled(o)
	again := o
	again.Epoch = 2
	again.Attempt = fleet.Attempt(o.ProjectID, o.RunID, o.SessionRef, 2)
	s.hub.order(again)
	s.hub.until("it is given up", func() bool { return len(s.hub.attempts[again.Attempt].gaveUp) > 0 })
	if s.started() != 1 {
		t.Errorf("started %d times", s.started())
	}
}
