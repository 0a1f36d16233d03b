package supervisor_test

// Sessions on another machine, as their hub follows them.

import (
	"context"
	"encoding/json"
	"testing"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
	"ac/workspace/doc"
)

const workerID = "wkr_01M7WQGTR95SV6EDMA61E1XR8M"

func placedEvents(order session.Order) func(events.Source) ([]events.Draft, error) {
	return func(source events.Source) ([]events.Draft, error) {
		d, err := source.Draft(events.Draft{RunID: order.RunID, SessionRef: order.SessionRef, Actor: events.ActorSystem, Visibility: events.VisibilityOrg, Type: "worker.placed"},
			map[string]string{"worker_id": workerID})
		return []events.Draft{d}, err
	}
}

func (s *stage) types(order session.Order) (list []string) {
	s.t.Helper()
	if err := session.EachEvent(s.w, workspace.LogFile(order.ProjectID, order.RunID), func(kind string, _ []byte) { list = append(list, kind) }); err != nil {
		s.t.Fatal(err)
	}
	return list
}

func TestARemoteSessionLooksLikeAnyOther(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("print", "a", "b")
	stops := make(chan bool, 4)
	host := supervisor.RemoteHost{
		WorkerID: workerID, Epoch: 1,
		Stop: func(byCaller bool) string { stops <- byCaller; return "it is told when it is back" },
		Verb: func(_ context.Context, verb string, _ json.RawMessage) (json.RawMessage, error) {
			if verb == "steer" {
				return json.RawMessage(`{"steer_id":"x"}`), nil
			}
			return nil, fault.New("worker_unreachable", "away")
		},
	}
	r, err := supervisor.AcceptRemote(s.ctx, s.w, host, order, placedEvents(order))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := supervisor.AcceptRemote(s.ctx, s.w, host, order, placedEvents(order)); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second one: %v", err)
	}
	record, err := session.Current(s.ctx, s.w, order.SessionRef)
	if err != nil || record.Status != doc.StatusRunning || record.WorkerID != workerID || record.Reach != doc.ReachPlacing {
		t.Fatalf("%+v %v", record, err)
	}
	if got, err := session.Steer(s.ctx, s.w, record, session.SteerRequest{}); err != nil || got.SteerID != "x" {
		t.Error(got, err)
	}
	if _, err := session.Interrupt(s.ctx, s.w, record, session.InterruptRequest{}); !fault.Is(err, "worker_unreachable") {
		t.Error(err)
	}
	if record, err = session.Stop(s.ctx, s.w, order.SessionRef); err != nil || record.Error != "it is told when it is back" || !<-stops {
		t.Error(record, err)
	}
	if !r.StopMarked() {
		t.Error("no stop marker")
	}
	// The hub dies. The session stays as it is, and the next hub resumes it.
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if record, err = session.Current(s.ctx, s.w, order.SessionRef); err != nil || record.Status != doc.StatusRunning || record.Error == "" {
		t.Fatalf("%+v %v", record, err)
	}
	if r, err = supervisor.ResumeRemote(s.ctx, s.w, host, order); err != nil {
		t.Fatal(err)
	}
	before := s.record(order)
	waited := make(chan doc.Session, 1)
	go func() {
		final, err := session.Collect(s.ctx, s.w, order.SessionRef)
		if err != nil {
			t.Error(err)
		}
		waited <- final
	}()
	if err := r.Begin(s.ctx, &doc.Spec{Kind: doc.KindCommand, Argv: []string{"true"}}, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.End(s.ctx, supervisor.RemoteEnd{Status: doc.StatusStopped, Stopped: true, ExitCode: new(143), Error: "why", Usage: &doc.Usage{Source: "provider_reported", Confidence: "high", TotalTokens: 7}, Reach: doc.ReachOK}); err != nil {
		t.Fatal(err)
	}
	if final := <-waited; final.Status != doc.StatusStopped {
		t.Errorf("%+v", final)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if final := session.Observe(s.w, before); final.Status != doc.StatusStopped || final.ExitCode == nil || final.Error != "why" {
		t.Errorf("who looked before the end is told %+v", final)
	}
	run, err := workspace.Load(s.w, doc.RunCodec, workspace.RunFile(order.ProjectID, order.RunID))
	if err != nil || run.Status != doc.StatusStopped || run.Usage.TotalTokens != 7 || run.Spec.Argv[0] != "true" {
		t.Errorf("%+v %v", run, err)
	}
	types := s.types(order)
	if n := len(types); n < 3 || types[n-2] != "worker.placed" || types[n-1] != "run.stopped" {
		t.Error(types)
	}
}

// TestARemoteSessionIsPlacedWhileOthersLook reads the recorded attempt while the session is
// placed again. A reader sees either attempt. Only the race detector can find a violation.
func TestARemoteSessionIsPlacedWhileOthersLook(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("print", "a", "b")
	r, err := supervisor.AcceptRemote(s.ctx, s.w, supervisor.RemoteHost{WorkerID: workerID, Epoch: 1}, order, placedEvents(order))
	if err != nil {
		t.Fatal(err)
	}
	const last = 20
	placed := make(chan struct{})
	go func() {
		defer close(placed)
		for epoch := 2; epoch <= last; epoch++ {
			if err := r.PlaceAgain(s.ctx, workerID, epoch, placedEvents(order)); err != nil {
				t.Error(err)
			}
		}
	}()
	for placing := true; placing; {
		select {
		case <-placed:
			placing = false
		default:
		}
		if id, epoch, _ := r.RecordedAttempt(); id != workerID || epoch < 1 || epoch > last {
			t.Error(id, epoch)
		}
	}
	if err := r.End(s.ctx, supervisor.RemoteEnd{Status: doc.StatusStopped, Stopped: true, Reach: doc.ReachOK}); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestARemoteSessionIsLost ends a session whose worker will never report its end, so only the
// log counts.
func TestARemoteSessionIsLost(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("print", "a", "b")
	r, err := supervisor.AcceptRemote(s.ctx, s.w, supervisor.RemoteHost{WorkerID: workerID, Epoch: 1}, order, placedEvents(order))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.PlaceAgain(s.ctx, workerID, 2, placedEvents(order)); err != nil {
		t.Fatal(err)
	}
	if err := r.End(s.ctx, supervisor.RemoteEnd{Status: doc.StatusFailed, Orphaned: true, Reason: "worker_lost", Lost: true, Reach: doc.ReachLost}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	record, err := session.Current(s.ctx, s.w, order.SessionRef)
	if err != nil || record.Status != doc.StatusFailed || record.Reach != doc.ReachLost || record.Epoch != 2 {
		t.Errorf("%+v %v", record, err)
	}
}
