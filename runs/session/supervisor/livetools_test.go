package supervisor_test

// Sessions whose agent has ac's own tools: its identity, its questions to people, and what
// happens to them when a process dies.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/grant"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/workspace/doc"
)

// fakeTools uses ac's tools for the scripted agent, without an MCP server in between.
type fakeTools struct {
	args   []string // of ac's own server
	client *grant.Client
	asked  string
}

// do executes a step and returns its outcome.
func (f *fakeTools) do(word, text string) string {
	ctx := context.Background()
	if len(f.args) != 3 {
		return "no tools"
	}
	var err error
	if f.client == nil || word == "again" {
		if f.client, err = grant.Open(ctx, f.args[2]); err != nil {
			return "refused: " + err.Error()
		}
	}
	if word != "heard" {
		record, err := f.client.Ask(ctx, grant.Ask{Question: grant.Question{Text: text}})
		if err != nil {
			return "refused: " + string(fault.ReasonOf(err))
		}
		f.asked = record.InteractionID
	}
	switch word {
	case "left":
		return ""
	case "again":
		if f.client.Close() != nil {
			return "not closed"
		}
		if f.client, err = grant.Open(ctx, f.args[2]); err == nil {
			_, err = f.client.Ask(ctx, grant.Ask{InteractionID: f.asked})
		}
		if err != nil {
			return "refused: " + err.Error()
		}
	}
	record, err := f.client.Await(ctx, f.asked)
	if err != nil {
		return "refused: " + err.Error()
	}
	heard := "heard: " + record.State
	if record.Text != nil {
		heard += " " + *record.Text + " by " + record.By
	}
	return heard
}

func withTools(l *session.LiveOrder) { l.MCP, l.KeepOpen = true, true }

// leaveNoGrant checks that an ended session has removed its grant and its MCP configuration.
func (k talk) leaveNoGrant(record doc.Session) {
	k.t.Helper()
	for _, end := range []string{".grant", ".mcp.json"} {
		if _, err := os.Lstat(filepath.Join(record.SocketDir, record.Socket+end)); !errors.Is(err, fs.ErrNotExist) {
			k.t.Errorf("%s of an ended session: %v", end, err)
		}
	}
}

func (k talk) grantFile() string {
	record := k.record(k.order)
	return filepath.Join(record.SocketDir, record.Socket+".grant")
}

func TestAgentsAskPeople(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"human", "again"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			k := newStage(t).live(step+" Which host?", withTools)
			id := k.asked()
			token, err := os.ReadFile(k.grantFile())
			if err != nil {
				t.Fatal(err)
			}
			answer := "staging-7"
			if got, err := k.respond(session.AnswerRequest{InteractionID: id, Text: &answer}); err != nil || !got.HandedOver {
				t.Errorf("%+v %v", got, err)
			}
			k.awaitSaid("heard: answered staging-7 by human")
			if _, err := k.respond(session.AnswerRequest{InteractionID: id, Text: &answer}); !fault.Is(err, fault.InteractionClosed) {
				t.Error(err)
			}
			k.until("it is idle", func() bool { return k.record(k.order).Activity == "idle" })
			k.leaveNoGrant(k.stop())
			_, secret, _ := strings.Cut(string(token), `"token":"`)
			secret = strings.TrimSuffix(secret, `"}`)
			if all := strings.Join(k.log(k.order), ""); len(secret) != 64 || strings.Contains(all, secret) {
				t.Errorf("the token %q stands in the log", secret)
			}
		})
	}
}

// TestWhoTheAgentIs checks the identity that the supervisor reports to the holder of a grant.
// The token of another session is denied.
func TestWhoTheAgentIs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	k, other := s.live("hold", withTools), s.live("hold", withTools)
	for _, one := range []talk{k, other} {
		one.awaitSaid("holding")
		client, err := grant.Open(t.Context(), one.grantFile())
		if err != nil {
			t.Fatal(err)
		}
		who := client.Identity()
		if who.RunID != one.order.RunID || who.AgentID != "agent" || who.WorkspaceDir != s.w.Dir() || who.WorkingDir != s.w.Dir() || !who.Interactive || who.LaunchJobs {
			t.Errorf("%+v", who)
		}
		if err := client.StartJob(t.Context(), "job_x"); !fault.Is(err, fault.Denied) {
			t.Error(err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(other.grantFile())
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := k.record(k.order).Socket, other.record(other.order).Socket
	if err := os.WriteFile(k.grantFile(), []byte(strings.Replace(string(text), theirs, mine, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := grant.Open(t.Context(), k.grantFile()); !fault.Is(err, fault.Denied) {
		t.Errorf("the token of another session: %v", err)
	}
	k.stop()
	other.stop()
}

// TestToolsWithoutPeople uses the tools in a session that asks nobody, and in one without
// tools.
func TestToolsWithoutPeople(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	k := s.live("human Which host?", func(l *session.LiveOrder) { l.MCP, l.Interactive = true, false })
	k.awaitSaid("refused: not_interactive")
	k.end()
	k = s.live("human Which host?", nil)
	k.awaitSaid("no tools")
	k.end()
}

// TestQuestionsOutliveTurns checks that a tool's question outlives its turn, and that an open
// question suspends the idle timeout.
func TestQuestionsOutliveTurns(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("left Which host?", func(l *session.LiveOrder) {
		withTools(l)
		l.IdleMS = 1
	})
	k.await(events.TurnEnded, nil)
	id, answer := k.asked(), "staging-7"
	if _, err := k.respond(session.AnswerRequest{InteractionID: id, Text: &answer}); err != nil {
		t.Error(err)
	}
	if record := k.end(); record.Status != doc.StatusEnded {
		t.Errorf("%+v", record)
	}
	k.await(events.InteractionResolved, func(p payload) bool { return p.State == interaction.Answered })
}

// TestQuestionsEndWithTheSession checks that a tool's question stays open after an
// interruption, and that a stop of the session cancels it.
func TestQuestionsEndWithTheSession(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("left Which host?; hold", withTools)
	id := k.asked()
	k.awaitSaid("holding")
	if _, err := session.Interrupt(k.ctx, k.w, k.record(k.order), session.InterruptRequest{Actor: "human"}); err != nil {
		t.Fatal(err)
	}
	k.await(events.TurnEnded, nil)
	state, err := session.StateOf(k.ctx, k.w, k.record(k.order))
	if err != nil || len(state.Open) != 1 || state.Open[0].InteractionID != id || state.Open[0].Tool != "ask_human" {
		t.Errorf("%+v %v", state, err)
	}
	k.leaveNoGrant(k.stop())
	k.await(events.InteractionResolved, func(p payload) bool {
		return p.InteractionID == id && p.State == interaction.Cancelled && p.Reason == interaction.Stopped
	})
}

// TestDeathsWhilePeopleAreAsked checks that whichever process dies, the question ends once, and
// no grant is left with which others could act as the agent.
func TestDeathsWhilePeopleAreAsked(t *testing.T) {
	t.Parallel()
	for victim, reason := range map[string]string{"supervisor": interaction.SessionLost, "guard": interaction.SessionEnded, "agent": interaction.SessionEnded} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			k := s.live("human Which host?", withTools)
			id := k.asked()
			client, err := grant.Open(t.Context(), k.grantFile()) // like an MCP server that is still alive
			if err != nil {
				t.Fatal(err)
			}
			record := k.record(k.order)
			switch victim {
			case "supervisor":
				s.litter = true
				k.kill(*record.OwnerPID)
				k.until("the supervisor is gone", func() bool { return !session.Live(k.w, k.record(k.order)) })
			case "guard":
				k.kill(k.guardOf(*record.OwnerPID))
			case "agent":
				k.kill(*record.PID)
			}
			k.leaveNoGrant(k.end())
			<-client.Gone()
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			k.await(events.InteractionResolved, func(p payload) bool {
				return p.InteractionID == id && p.State == interaction.Cancelled && p.Reason == reason
			})
			answer := "too late"
			if _, err := k.respond(session.AnswerRequest{InteractionID: id, Text: &answer}); !fault.Is(err, fault.RunNotLive) {
				t.Error(err)
			}
			s.gone()
		})
	}
}
