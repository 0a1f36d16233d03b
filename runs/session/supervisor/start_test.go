package supervisor_test

// Texts for runs without a session: they wait in the log, and one session starts for all of
// them.

import (
	"context"
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

// queueFor queues a text for a run without a session.
func (k talk) queueFor(text, client string) (session.SteerResult, error) {
	k.t.Helper()
	return runs.Steer(k.ctx, k.w, runs.Act{ProjectID: k.project, RunID: k.order.RunID, Actor: policy.Actor{ID: "human", Role: "human"}},
		session.SteerRequest{Text: text, Mode: session.ModeAfterTurn, ClientMessageID: client}, true)
}

// startWaiting starts a session for the waiting texts.
func (k talk) startWaiting(change func(*runs.ContinueSpec)) error {
	return k.startBy(k.launcher, change)
}

func (k talk) startBy(starter runs.Starter, change func(*runs.ContinueSpec)) error {
	spec := runs.ContinueSpec{LaunchSpec: runs.LaunchSpec{
		ProjectID: k.project, RunID: k.order.RunID, Version: "1", Actor: policy.Actor{ID: "human", Role: "human"},
	}, Resume: runs.ResumeAuto}
	if change != nil {
		change(&spec)
	}
	return runs.StartWaiting(k.ctx, k.w, runs.NewAdmission(k.w, lane.Limits{Workspace: 4, Provider: 4, Team: 4}), starter, spec)
}

// said returns the user's texts in the order of their turns.
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

// TestStarts checks that texts for a run that never executed, or that has ended, start one
// session. Each text has a turn, in the order in which they were sent.
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
		record, err := session.Collect(k.ctx, k.w, k.order.SessionRef) // the loser may ask the policy after this end
		if err != nil || record.Status != doc.StatusEnded {
			t.Fatalf("%s: %s: %v", record.Status, record.Error, err)
		}
		k.checkStory(k.order, record.Status)
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

// TestStartsBesideASession checks that a continuation delivers a text that already waits, once,
// and that starts for that text then do nothing.
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

// late is a starter that loses a race: before it launches, another session has started and
// ended.
type late struct {
	runs.Starter

	before func()
	busy   bool // Launch reports the other session as running, though it is over
}

func (l *late) Launch(ctx context.Context, order session.Order) error {
	if l.before == nil {
		return l.Starter.Launch(ctx, order)
	}
	l.before()
	l.before = nil
	if !l.busy {
		return l.Starter.Launch(ctx, order)
	}
	return fault.New(fault.Conflict, "run %s is being executed already", order.RunID)
}

// TestStartsOnce checks that a starter launches no session if another one has delivered all
// waiting texts and ended.
func TestStartsOnce(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("say one", nil)
	k.end()
	if _, err := k.queueFor("say two", ""); err != nil {
		t.Fatal(err)
	}
	loser := &late{Starter: k.launcher, before: func() {
		if err := k.startWaiting(nil); err != nil {
			t.Error(err)
		}
		k.order.SessionRef += "_2"
		k.end()
	}}
	if err := k.startBy(loser, func(s *runs.ContinueSpec) { s.Live.KeepOpen = new(true) }); err != nil {
		t.Error(err)
	}
	run, err := runs.Load(k.w, k.project, k.order.RunID)
	if err != nil || run.Live.Sessions != 2 || run.Live.Turns != 2 {
		t.Errorf("%+v: %v", run.Live, err)
	}
}

// TestStartsBehindASession checks a start that loses to a session which has ended by then. No
// text is refused, and a text that arrived after that session starts the next one.
func TestStartsBehindASession(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	k := talk{s, s.turn("not said")}
	if _, err := k.queueFor("say one", ""); err != nil {
		t.Fatal(err)
	}
	loser := &late{Starter: k.launcher, busy: true, before: func() {
		if err := k.startWaiting(nil); err != nil {
			t.Error(err)
		}
		k.end()
		if _, err := k.queueFor("say two", ""); err != nil {
			t.Error(err)
		}
	}}
	if err := k.startBy(loser, nil); err != nil {
		t.Error(err)
	}
	k.order.SessionRef += "_2"
	k.end()
	if got := k.said(); !slices.Equal(got, []string{"say one", "say two"}) {
		t.Errorf("%q", got)
	}
}

// TestStartRefused checks that a refused start discards the waiting texts with its reason. A
// later start has nothing to do.
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

// TestStartInItsPlace checks a run that failed before it executed anything. When continued, it
// runs in the repository that the new start names.
func TestStartInItsPlace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	repo := t.TempDir()
	if err := s.w.UpdateMachine(s.ctx, func(m *doc.Machine) { m.RepoRoots = map[string]string{"repo": repo} }); err != nil {
		t.Fatal(err)
	}
	k := talk{s, s.turnOf(session.DriverACP, "not said")}
	for _, c := range []struct{ repo, status string }{{"none", doc.StatusFailed}, {"repo", doc.StatusEnded}} {
		if _, err := k.queueFor("say "+c.repo, ""); err != nil {
			t.Fatal(err)
		}
		_ = k.startWaiting(func(spec *runs.ContinueSpec) { spec.RepoID, spec.InPlace = c.repo, true }) // the record has the outcome
		if record := k.end(); record.Status != c.status {
			t.Fatalf("%s: %s: %s", c.repo, record.Status, record.Error)
		}
		k.order.SessionRef += "_2"
	}
	run, err := runs.Load(s.w, s.project, k.order.RunID)
	if err != nil || run.Spec == nil || run.Spec.RepoID != "repo" || !slices.Equal(k.said(), []string{"say repo"}) {
		t.Errorf("%+v %q %v", run.Spec, k.said(), err)
	}
}

// TestStartFails accepts a session whose agent cannot be started. The texts that were to begin
// it are discarded with the reason, so that a later session does not deliver them. That session
// continues the run, whether or not the run began to execute.
func TestStartFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		machine func(*doc.Machine)
		want    string
	}{
		"no program":    {func(m *doc.Machine) { m.AgentCommands["acp_script"] = []string{"/nonexistent/agent"} }, "/nonexistent/agent"},
		"no executable": {func(m *doc.Machine) { m.AgentCommands["acp_script"] = []string{"/etc/hostname"} }, "/etc/hostname"},
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
			if err := k.startWaiting(nil); err != nil {
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

// TestStartWithoutWords starts an agent whose command line is not known. Nothing is accepted,
// and the waiting texts are discarded with the reason. The run stays as it was, so it can start
// once the command line is known.
func TestStartWithoutWords(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	k := talk{s, s.turnOf(session.DriverACP, "not said")}
	working, err := s.w.Machine()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.w.UpdateMachine(s.ctx, func(m *doc.Machine) { m.AgentCommands = nil }); err != nil {
		t.Fatal(err)
	}
	lost, err := k.queueFor("say lost", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.startWaiting(nil); !fault.Is(err, fault.NoAgentCommand) {
		t.Errorf("%v", err)
	}
	if p := k.await(events.SteerDiscarded, nil); p.SteerID != lost.SteerID || p.Reason != "refused" || !strings.Contains(p.Error, "no command line is known") {
		t.Errorf("%+v", p)
	}
	if run, err := runs.Load(s.w, s.project, k.order.RunID); err != nil || run.Status != doc.StatusRunning {
		t.Errorf("%s (%v)", run.Status, err)
	}
	if err := s.w.UpdateMachine(s.ctx, func(m *doc.Machine) { m.AgentCommands = working.AgentCommands }); err != nil {
		t.Fatal(err)
	}
	if _, err := k.queueFor("say later", ""); err != nil {
		t.Fatal(err)
	}
	if err := k.startWaiting(nil); err != nil {
		t.Fatal(err)
	}
	if record := k.end(); record.Status != doc.StatusEnded {
		t.Errorf("%s: %s", record.Status, record.Error)
	}
	if got := k.said(); !slices.Equal(got, []string{"say later"}) {
		t.Errorf("%q were said", got)
	}
}
