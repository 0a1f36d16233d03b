package hub_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/fleet"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// started places a session and makes the worker claim it and send its first draft.
func (m *member) started(order session.Order) fleet.Order {
	m.s.t.Helper()
	placed := make(chan error, 1)
	go func() { // ends with the answer, which until awaits
		placed <- fleet.CallHub(m.s.ctx, m.s.w, fleet.HubPlace, fleet.PlaceRequest{Order: order, Placement: fleet.Placement{Where: fleet.WhereRemote}}, nil)
	}()
	m.s.until("it is placed", func() bool {
		m.beat() // without a beat it may count as unreachable on a busy machine
		select {
		case err := <-placed:
			if err != nil {
				m.s.t.Fatal(err)
			}
			return true
		default:
			return false
		}
	})
	o := m.take()
	if got := m.claim(o); got.Answer != fleet.Granted {
		m.s.t.Fatalf("%+v", got)
	}
	m.send(o, 1, 1, m.draft("provider.raw", "a"))
	m.s.until("it is sealed", func() bool { return m.beat(o.Attempt).Sealed[o.Attempt] == 1 })
	return o
}

func (s *stage) evidence(order session.Order) string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.w.Dir(), workspace.RunDir(order.ProjectID, order.RunID), "outputs", "late", "*.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	text := ""
	for _, file := range files {
		one, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		text += string(one)
	}
	return text
}

// TestALeaseEnds checks that the session of a silent worker becomes unreachable, then lost. Drafts
// that arrive later become evidence and stay out of the log.
func TestALeaseEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{UnreachableAfterMS: 300, LeaseS: 1, LeaseMarginMS: 5000})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	o := m.started(order)
	s.until("it is unreachable", func() bool { return s.record(order).Reach == doc.ReachUnreachable })
	record, err := session.Stop(s.ctx, s.w, order.SessionRef)
	if err != nil || !strings.Contains(record.Error, "it is told when it is back") {
		t.Errorf("%q %v", record.Error, err)
	}
	s.until("it is told of the stop", func() bool { return len(m.beat(o.Attempt).Stop) == 1 })
	s.until("it is reached", func() bool { m.beat(o.Attempt); return s.record(order).Reach == doc.ReachOK })
	s.until("it is lost", func() bool { return s.record(order).Reach == doc.ReachLost })
	final, err := session.Collect(s.ctx, s.w, order.SessionRef)
	if err != nil || final.Status != doc.StatusFailed || final.Reason != "worker_lost" {
		t.Errorf("%+v %v", final, err)
	}
	if reply := m.beat(o.Attempt); len(reply.Fenced) != 1 {
		t.Errorf("it is not told of the fence: %+v", reply)
	}
	if got := m.claim(o); got.Answer != fleet.Refused || got.Reason != fleet.WhyFenced {
		t.Errorf("%+v", got)
	}
	m.send(o, 1, 2, m.draft("provider.raw", "late words"))
	s.until("it is evidence", func() bool { return strings.Contains(s.evidence(order), "late words") })
	s.until("it is told", func() bool { types, _ := s.log(order); return count(types, "worker.late_evidence") == 1 })
	types, lines := s.log(order)
	if chunks(lines) != "a" || count(types, "run.failed") != 1 || count(types, "worker.unreachable") < 1 || count(types, "worker.reached") < 1 || count(types, "worker.fenced") != 1 {
		t.Error(types)
	}
}

// TestAnOrderIsNotTaken checks that an unclaimed order is placed again with the next epoch, up to
// three placements in all.
func TestAnOrderIsNotTaken(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{ClaimWithinMS: 200})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	s.place(order)
	final, err := session.Collect(s.ctx, s.w, order.SessionRef)
	if err != nil || final.Status != doc.StatusFailed || final.Reason != string(fleet.NoWorker) {
		t.Errorf("%+v %v", final, err)
	}
	types, _ := s.log(order)
	if count(types, "worker.placed") != 3 || count(types, "worker.withdrawn") != 2 {
		t.Error(types)
	}
	for epoch := 1; epoch <= 3; epoch++ {
		attempt := fleet.Attempt(order.ProjectID, order.RunID, order.SessionRef, epoch)
		if got := m.claim(fleet.Order{Attempt: attempt, Epoch: epoch}); got.Answer != fleet.Refused {
			t.Errorf("epoch %d: %+v", epoch, got)
		}
	}
}

// TestAWorkerNeverStarted checks that the hub orders the next epoch once a worker reports that it
// never started its attempt.
func TestAWorkerNeverStarted(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	s.place(order)
	o := m.take()
	m.claim(o)
	m.hello(fleet.HelloAttempt{Attempt: o.Attempt, State: "claimed", NeverStarted: true})
	again := m.take()
	if again.Epoch != 2 || again.RunID != order.RunID {
		t.Fatalf("%+v", again)
	}
	if got := m.claim(o); got.Answer != fleet.Refused {
		t.Errorf("%+v", got)
	}
	if got := m.claim(again); got.Answer != fleet.Granted {
		t.Errorf("%+v", got)
	}
	m.send(again, 1, 1, m.draft("provider.raw", "x"))
	m.end(again, 1)
	if final, err := session.Collect(s.ctx, s.w, order.SessionRef); err != nil || final.Status != doc.StatusEnded || final.Epoch != 2 {
		t.Errorf("%+v %v", final, err)
	}
	if _, lines := s.log(order); chunks(lines) != "x" {
		t.Error(chunks(lines))
	}
}

// TestNeverStartedWhileNobodyIsThere checks that the hub waits for a worker and does not end the
// session.
func TestNeverStartedWhileNobodyIsThere(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box", Slots: 1})
	order := s.run("true")
	s.place(order)
	o := m.take()
	m.claim(o)
	must[json.RawMessage](s, fleet.HubDrain, fleet.DrainRequest{WorkerID: m.id, On: true})
	m.hello(fleet.HelloAttempt{Attempt: o.Attempt, State: "claimed", NeverStarted: true})
	must[json.RawMessage](s, fleet.HubDrain, fleet.DrainRequest{WorkerID: m.id, On: false})
	again := m.take()
	if again.Epoch != 2 {
		t.Errorf("epoch %d", again.Epoch)
	}
	m.claim(again)
	m.send(again, 1, 1, m.draft("run.executing", ""))
	m.end(again, 1)
	s.until("it has ended", func() bool { return s.record(order).Status == doc.StatusEnded })
}

// TestGivenUpTwice checks that a hub acknowledges a give-up only once the session is placed again.
// If that hub ends before, the worker repeats the give-up to the next one.
func TestGivenUpTwice(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box", Slots: 1})
	order := s.run("true")
	s.place(order)
	o := m.take()
	m.claim(o)
	must[json.RawMessage](s, fleet.HubDrain, fleet.DrainRequest{WorkerID: m.id, On: true})
	giveUp := func() fleet.ClaimReply {
		claim := fleet.Claim{Stamp: m.stamp(), Attempt: o.Attempt, Epoch: o.Epoch, Instance: "i"}
		return ask[fleet.ClaimReply](m, fleet.AskClaim, &fleet.GiveUp{Claim: claim, NeverStarted: true})
	}
	if reply := giveUp(); reply.Answer != "" || reply.Reason != string(fleet.NoWorker) {
		t.Fatalf("%+v", reply)
	}
	s.stop()
	s.start()
	m.c.Close()
	m.connect()
	m.hello()
	giveUp()
	must[json.RawMessage](s, fleet.HubDrain, fleet.DrainRequest{WorkerID: m.id, On: false})
	again := m.take()
	if reply := giveUp(); again.Epoch != 2 || reply.Answer != fleet.Refused {
		t.Errorf("epoch %d, %+v", again.Epoch, reply)
	}
	m.claim(again)
	m.end(again, 0)
	s.until("it has ended", func() bool { return s.record(order).Status == doc.StatusEnded })
}

// TestAStopBeforeTheClaim checks that a session stopped before its claim never starts.
func TestAStopBeforeTheClaim(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	s.place(order)
	if _, err := session.Stop(s.ctx, s.w, order.SessionRef); err != nil {
		t.Fatal(err)
	}
	final, err := session.Collect(s.ctx, s.w, order.SessionRef)
	if err != nil || final.Status != doc.StatusStopped {
		t.Errorf("%+v %v", final, err)
	}
	if got := m.claim(fleet.Order{Attempt: fleet.Attempt(order.ProjectID, order.RunID, order.SessionRef, 1), Epoch: 1}); got.Answer != fleet.Refused {
		t.Errorf("%+v", got)
	}
}

// TestWhatIsSaidIsPassedOn checks that steers and stops reach the worker, and that its answer comes
// back. A draft of a person unknown to the hub is refused.
func TestWhatIsSaidIsPassedOn(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	m.tell = func(_, verb string, body []byte) any {
		var said struct {
			Actor string `json:"actor_id"`
		}
		_ = json.Unmarshal(body, &said)
		return map[string]any{"steer_id": verb + " of " + said.Actor, "interrupted": true}
	}
	order := s.run("true")
	o := m.started(order)
	got, err := session.Steer(s.ctx, s.w, s.record(order), session.SteerRequest{Actor: "human"})
	if err != nil || got.SteerID != "steer of human" {
		t.Errorf("%+v %v", got, err)
	}
	d := m.draft("run.steer_queued", "b")
	d.Actor = "human"
	stranger := m.draft("run.steer_queued", "c")
	stranger.Actor = "somebody"
	m.send(o, 1, 2, d, stranger)
	if _, err := session.Stop(s.ctx, s.w, order.SessionRef); err != nil {
		t.Fatal(err)
	}
	s.until("it is told to stop", func() bool { return strings.HasPrefix(<-m.told, "stop ") })
	m.end(o, 3)
	if final, err := session.Collect(s.ctx, s.w, order.SessionRef); err != nil || final.Status != doc.StatusEnded {
		t.Errorf("%+v %v", final, err)
	}
	types, lines := s.log(order)
	if chunks(lines) != "ab" || count(types, "worker.draft_refused") != 1 || !strings.Contains(s.evidence(order), "somebody") {
		t.Error(types)
	}
}

// TestARevokedWorkerLosesItsSessions checks that its sessions are fenced and its requests refused.
// Its name can be used again.
func TestARevokedWorkerLosesItsSessions(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	m.started(order)
	got := must[fleet.RevokeResult](s, fleet.HubRevoke, fleet.RevokeRequest{WorkerID: "box", Reason: "it was sold", By: "ada"})
	if len(got.Fenced) != 1 || got.Fenced[0] != order.SessionRef {
		t.Errorf("%+v", got)
	}
	if final, err := session.Collect(s.ctx, s.w, order.SessionRef); err != nil || final.Status != doc.StatusFailed || final.Reach != doc.ReachLost {
		t.Errorf("%+v %v", final, err)
	}
	types, lines := s.log(order)
	if i := slices.Index(types, "worker.fenced"); i < 0 || !strings.Contains(lines[i], `"reason":"revoked","by":"ada","sealed":1,"note":"it was sold"`) {
		t.Errorf("%s", lines)
	}
	if _, err := m.c.Ask(s.ctx, fleet.AskBeat, []byte("{}")); err == nil {
		t.Error("it is answered")
	}
	s.invite(fleet.InviteRequest{Name: "box"}) // the name is free
}

// TestOnlyTheWorkerItselfIsBelieved checks that a replayed request is refused.
func TestOnlyTheWorkerItselfIsBelieved(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	old, err := json.Marshal(fleet.Beat{Stamp: fleet.Stamp{Boot: m.boot, Seq: m.seq.Load()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.c.Ask(s.ctx, fleet.AskBeat, old); !fault.Is(err, fleet.CarrierUnavailable) {
		t.Errorf("a stamp counts twice: %v", err)
	}
	if status := must[fleet.StatusResult](s, fleet.HubStatus, struct{}{}); status.Refused != 1 {
		t.Errorf("%+v", status)
	}
}
