package hub

// Withdrawals that race with other requests about the same attempt, over a carrier that the test
// blocks.

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/fleet"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace/doc"
)

// standInRoad is a fake carrier that accepts every order.
type standInRoad struct {
	carrierClient
	delete    func(attempt string) // called by DeleteOrder
	put       func(worker string) error
	published chan string // the attempts
}

func (r *standInRoad) Put(_ context.Context, worker, _ string, _ io.Reader) error {
	return r.put(worker)
}

func (r *standInRoad) DeleteOrder(_ context.Context, _, attempt string) error {
	r.delete(attempt)
	return nil
}

func (r *standInRoad) PublishOrder(_ context.Context, _, attempt string, _ []byte) error {
	r.published <- attempt
	return nil
}

func (r *standInRoad) Notify(string, string, []byte) {}

// withdrawal is a hub without background goroutines that has placed a session on one of three
// workers.
type withdrawal struct {
	t       *testing.T
	h       *Hub
	l       *launch
	road    *standInRoad
	first   string // the worker of the first attempt
	attempt string
}

func newWithdrawal(t *testing.T) *withdrawal {
	t.Helper()
	w := testWorkspace(t)
	r := &standInRoad{delete: func(string) {}, published: make(chan string, 16)}
	h := &Hub{
		o: Options{Workspace: w, Speaks: fleet.Speaks(), Log: slog.New(slog.DiscardHandler), Environ: os.Environ(), Elapsed: func() time.Duration { return time.Hour }},
		w: w, carrier: r, wake: make(chan struct{}, 1), settings: fleet.Defaults(), workers: map[string]*worker{}, launches: map[string]*launch{},
		past: map[string]*fleet.AttemptRecord{}, evidenceOf: map[string]*evidenceCounts{}, holds: map[string]outcome{},
	}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		h.cancel()
		h.wg.Wait()
		for _, l := range h.all() {
			if err := l.close(); err != nil {
				t.Error(err)
			}
		}
	})
	for _, id := range []string{"wkr_a", "wkr_b", "wkr_c"} {
		one := newWorker(fleet.WorkerRecord{ID: id, Name: id, State: fleet.WorkerActive, Slots: 1})
		one.hello, one.seen = &fleet.Hello{Orders: [2]int{1, 1}}, h.o.Elapsed()
		h.workers[id] = one
	}
	project, err := w.NewProject(t.Context(), "P")
	if err != nil {
		t.Fatal(err)
	}
	made, err := runs.Create(t.Context(), w, project, "agent", "cmd")
	if err != nil {
		t.Fatal(err)
	}
	l, err := h.accept(t.Context(), fleet.PlaceRequest{Order: session.Order{
		WorkspaceDir: w.Dir(), ProjectID: project, RunID: made.RunID, SessionRef: session.LocalRef(made.RunID), AgentID: "agent", Provider: "cmd", Argv: []string{"true"},
	}}, h.workers["wkr_a"])
	if err != nil {
		t.Fatal(err)
	}
	return &withdrawal{t, h, l, r, "wkr_a", l.id()}
}

// slots returns a worker's ID for each slot that is in use.
func (s *withdrawal) slots() (used []string) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	for id, w := range s.h.workers {
		for range w.launches {
			used = append(used, id)
		}
	}
	return used
}

func (s *withdrawal) claim() fleet.ClaimReply {
	s.t.Helper()
	reply, err := s.h.claim(s.t.Context(), s.first, fleet.GiveUp{Claim: fleet.Claim{Attempt: s.attempt, Epoch: 1, Instance: "i"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return reply
}

// placedOnce checks that the session has its second attempt and that only this one occupies a slot.
func (s *withdrawal) placedOnce() {
	s.t.Helper()
	s.h.wg.Wait()
	s.l.mu.Lock()
	at, tried := s.l.at, s.l.tried
	s.l.mu.Unlock()
	if at.epoch != 2 || at.worker == s.first || len(tried) != 1 || tried[0] != s.first {
		s.t.Errorf("it is placed at %+v, after %v", at, tried)
	}
	if used := s.slots(); len(used) != 1 || used[0] != at.worker {
		s.t.Errorf("slots are in use on %v, the session is on %s", used, at.worker)
	}
}

// TestWithdrawnTwiceAtOnce checks a race: a worker claims an attempt and releases it twice while
// the hub's timeouts withdraw it. The session is placed once more, and the claim is refused.
func TestWithdrawnTwiceAtOnce(t *testing.T) {
	t.Parallel()
	s := newWithdrawal(t)
	begun, released := make(chan struct{}), make(chan struct{})
	first := true
	s.road.delete = func(string) {
		if first { // later calls must not block
			first = false
			close(begun)
			<-released
		}
	}
	s.l.since = -time.Hour
	withdrawn := make(chan struct{})
	go func() {
		defer close(withdrawn)
		s.h.actOnTimeouts(s.l)
	}()
	<-begun
	if reply := s.claim(); reply.Answer != fleet.Refused || reply.Reason != fleet.WhyFenced {
		t.Errorf("the claim: %+v", reply)
	}
	s.h.giveUp(t.Context(), s.first, s.attempt, withdrawnNeverStarted)
	s.h.giveUp(t.Context(), s.first, s.attempt, withdrawnRefused)
	close(released)
	<-withdrawn
	s.placedOnce()
	if got := s.h.workers[s.first].starts.After(false, 0); got != s.h.workers["wkr_b"].starts.After(false, 0).After(false, 0) {
		t.Errorf("the failed start counts more than once: %+v", got)
	}
}

// TestClaimedBeforeItIsWithdrawn checks that a claim wins if it arrives after the timeouts found
// the attempt unclaimed, but before the withdrawal.
func TestClaimedBeforeItIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := newWithdrawal(t)
	if reply := s.claim(); reply.Answer != fleet.Granted {
		t.Fatalf("%+v", reply)
	}
	s.h.withdraw(t.Context(), s.l, s.attempt, withdrawnNotClaimed)
	s.h.wg.Wait()
	if reply := s.claim(); reply.Answer != fleet.Granted {
		t.Errorf("%+v", reply)
	}
}

// TestStoppedWhileItIsWithdrawn checks that a session is not placed again if it is stopped
// meanwhile.
func TestStoppedWhileItIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := newWithdrawal(t)
	s.claim()
	s.road.delete = func(string) {
		s.l.mu.Lock()
		defer s.l.mu.Unlock()
		if err := s.l.set(func(r *fleet.AttemptRecord) { r.Stop = true }); err != nil {
			t.Error(err)
		}
	}
	s.h.withdraw(t.Context(), s.l, s.attempt, withdrawnNeverStarted)
	s.h.wg.Wait()
	record, err := session.Read(s.h.w, s.l.order.SessionRef)
	if err != nil || record.Status != doc.StatusStopped || record.Epoch != 1 {
		t.Errorf("%+v %v", record, err)
	}
	if used := s.slots(); len(used) > 0 {
		t.Errorf("slots are in use on %v", used)
	}
}

// TestAPlacementThatCannotBeRecorded checks that the placement is retried, whatever the reason for
// the withdrawal. Afterwards only the new attempt occupies a slot.
func TestAPlacementThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{withdrawnNotClaimed, withdrawnNeverStarted, withdrawnRefused} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s := newWithdrawal(t)
			o := s.l.order
			next := fleet.Attempt(o.ProjectID, o.RunID, o.SessionRef, 2)
			inTheWay := filepath.Join(s.h.w.Dir(), filepath.FromSlash(fleet.AttemptFile(next)))
			if err := os.Mkdir(inTheWay, 0o700); err != nil {
				t.Fatal(err)
			}
			s.h.withdraw(t.Context(), s.l, s.attempt, reason)
			if err := os.Remove(inTheWay); err != nil {
				t.Fatal(err)
			}
			select {
			case attempt := <-s.road.published:
				if attempt != next {
					t.Errorf("the order of %s was published", attempt)
				}
			case <-time.After(time.Minute): // only if it hangs
				t.Fatal("it is not placed again")
			}
			s.placedOnce()
		})
	}
}

// TestFencedAfterItWasPlacedAgain checks that a fence decided for the previous attempt does not
// affect the new one.
func TestFencedAfterItWasPlacedAgain(t *testing.T) {
	t.Parallel()
	s := newWithdrawal(t)
	s.h.withdraw(t.Context(), s.l, s.attempt, withdrawnNotClaimed)
	if err := s.h.fence(t.Context(), s.l, fence{attempt: s.attempt, reason: fencedLease}); err != nil {
		t.Fatal(err)
	}
	s.placedOnce()
	record, err := session.Read(s.h.w, s.l.order.SessionRef)
	if err != nil || record.Status != doc.StatusRunning || record.Epoch != 2 {
		t.Errorf("%+v %v", record, err)
	}
}

// TestWithdrawnWhileItsOrderIsMade checks that an order that cannot be made fails only for the
// worker that the session has left.
func TestWithdrawnWhileItsOrderIsMade(t *testing.T) {
	t.Parallel()
	s := newWithdrawal(t)
	s.l.order.Stdin = new(strings.Repeat("x", fleet.MaxOrder)) // too long for the order, so it is sent as an object
	s.road.put = func(worker string) error {
		if worker != s.first {
			return nil
		}
		s.h.withdraw(t.Context(), s.l, s.attempt, withdrawnNotClaimed)
		return errors.New("the store is full")
	}
	s.h.send(s.l)
	s.placedOnce()
	select {
	case attempt := <-s.road.published:
		if attempt == s.attempt {
			t.Error("the old order was published")
		}
	default:
		t.Error("the new order was not published")
	}
}
