package session_test

// Texts for runs without a session: they wait in the log, and one session is started
// for all of them.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/workspace/doc"
)

// queueFor says a text to a run that nobody speaks with.
func (k talk) queueFor(text, client string) (session.SteerResult, error) {
	k.t.Helper()
	return runs.Steer(k.ctx, k.w, runs.Act{ProjectID: k.project, RunID: k.order.RunID, Actor: policy.Actor{ID: "human", Role: "human"}},
		session.SteerRequest{Text: text, Mode: session.ModeAfterTurn, ClientMessageID: client}, true)
}

// startWaiting starts a session for the texts that wait.
func (k talk) startWaiting(change func(*runs.ContinueSpec)) error {
	spec := runs.ContinueSpec{LaunchSpec: runs.LaunchSpec{
		ProjectID: k.project, RunID: k.order.RunID, Version: "1", Actor: policy.Actor{ID: "human", Role: "human"},
	}, Resume: runs.ResumeAuto}
	if change != nil {
		change(&spec)
	}
	return runs.StartWaiting(k.ctx, k.w, runs.NewAdmission(k.w, lane.Limits{Workspace: 4, Provider: 4, Team: 4}), k.launcher, spec)
}

// said are the texts of the user in the order of their turns.
func (k talk) said() (list []string) {
	k.t.Helper()
	texts := map[string]string{}
	for _, e := range parsed(k.log(k.order)) {
		p := e.read()
		switch e.Type {
		case events.SteerQueued:
			texts[p.SteerID] = p.Text
		case events.TurnStarted:
			if p.Text != "" {
				list = append(list, p.Text)
			}
			for _, id := range p.SteerIDs {
				list = append(list, texts[id])
			}
		}
	}
	return list
}

// TestStarts: what is said to a run that never executed, and to one that is over, starts
// one session, with a turn for each text in the order in which they were said.
func TestStarts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	k := talk{s, s.turn("not said")}
	want := []string{}
	for round := range 2 {
		for i := range 3 {
			text := fmt.Sprintf("say %d.%d", round, i)
			result, err := k.queueFor(text, text)
			if err != nil || result.Delivery != session.DeliveryNextLaunch || result.QueueLength != i+1 {
				t.Fatalf("%+v: %v", result, err)
			}
			if again, err := k.queueFor(text, text); err != nil || again != result {
				t.Errorf("%+v, then %+v: %v", result, again, err)
			}
			want = append(want, text)
		}
		done := make(chan error, 2)
		for range cap(done) {
			go func() { done <- k.startWaiting(nil) }()
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if round == 1 {
			k.order.SessionRef += "_2"
		}
		if record := k.end(); record.Status != doc.StatusEnded {
			t.Fatalf("%s: %s", record.Status, record.Error)
		}
		if got := k.output(k.order, "prompt.txt"); got != want[round*3] {
			t.Errorf("prompt.txt has %q", got)
		}
	}
	if got := k.said(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	run, err := runs.Load(k.w, k.project, k.order.RunID)
	if err != nil || run.Live.Sessions != 2 || run.Live.Turns != 6 {
		t.Errorf("%+v: %v", run.Live, err)
	}
}

// TestStartsBesideASession: a text that came into the log while a session was begun is
// taken by that session, once.
func TestStartsBesideASession(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("say one", nil)
	k.end()
	if _, err := k.queueFor("say two", ""); err != nil {
		t.Fatal(err)
	}
	next, _, err := k.goOn("hold", func(s *runs.ContinueSpec) { s.Live.KeepOpen = new(true) })
	if err != nil {
		t.Fatal(err)
	}
	next.awaitSaid("holding")
	for range 2 {
		if err := k.startWaiting(nil); err != nil {
			t.Error(err)
		}
	}
	if result, err := k.queueFor("say three", ""); err != nil || result.Delivery != session.DeliveryNextTurn {
		t.Errorf("%+v: %v", result, err)
	}
	next.say(session.SteerRequest{Text: "go on"})
	k.await(events.TurnEnded, func(p payload) bool { return p.Turn == 4 })
	next.stop()
	if got := k.said(); !slices.Equal(got, []string{"say one", "hold", "say two", "say three"}) {
		t.Errorf("%q", got)
	}
}

// TestStartRefused: a refusal ends the texts that wait, with its reason; what only met
// an obstacle waits on.
func TestStartRefused(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("say one", nil)
	k.end()
	said, err := k.queueFor("say two", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.startWaiting(func(s *runs.ContinueSpec) { s.Budget = &doc.Budget{HardTokens: new(int64(1))} }); !fault.Is(err, fault.BudgetExceeded) {
		t.Error(err)
	}
	p := k.await(events.SteerDiscarded, nil)
	if p.SteerID != said.SteerID || p.Reason != "refused" || p.Error == "" {
		t.Errorf("%+v", p)
	}
	if err := k.startWaiting(nil); err != nil {
		t.Errorf("nothing waits any more: %v", err)
	}
}

// TestStartFails: where the session is accepted and its agent cannot be started, the texts
// that were to begin it are discarded with the reason, so that they do not come along with a
// later one.
func TestStartFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine  func(*doc.Machine)
		want     string
		executed bool // as far as its log tells
	}{
		"no command line": {func(m *doc.Machine) { m.AgentCommands = nil }, "no command line is known", false},
		"no program":      {func(m *doc.Machine) { m.AgentCommands["acp_script"] = []string{"/nonexistent/agent"} }, "/nonexistent/agent", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			k := talk{s, s.turnOf(session.DriverACP, "not said")}
			working, err := s.w.Machine()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.w.UpdateMachine(s.ctx, c.machine); err != nil {
				t.Fatal(err)
			}
			lost, err := k.queueFor("say lost", "")
			if err != nil {
				t.Fatal(err)
			}
			_ = k.startWaiting(nil) // it may have begun before it failed
			if p := k.await(events.SteerDiscarded, nil); p.SteerID != lost.SteerID || p.Reason != "refused" || !strings.Contains(p.Error, c.want) {
				t.Errorf("%+v", p)
			}
			if record := k.end(); record.Status != doc.StatusFailed {
				t.Fatalf("%s: %s", record.Status, record.Error)
			}
			k.before(isType(events.SteerDiscarded), isType(events.RunFailed))

			if err := s.w.UpdateMachine(s.ctx, func(m *doc.Machine) { m.AgentCommands = working.AgentCommands }); err != nil {
				t.Fatal(err)
			}
			if _, err := k.queueFor("say later", ""); err != nil {
				t.Fatal(err)
			}
			err = k.startWaiting(nil)
			if !c.executed { // the run has nothing to go on with
				if !fault.Is(err, fault.RunNotResumable) {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			k.order.SessionRef += "_2"
			if record := k.end(); record.Status != doc.StatusEnded {
				t.Errorf("%s: %s", record.Status, record.Error)
			}
			if got := k.said(); !slices.Equal(got, []string{"say later"}) {
				t.Errorf("%q were said", got)
			}
		})
	}
}
