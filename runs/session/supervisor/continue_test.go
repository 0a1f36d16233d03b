package supervisor_test

// Continuing runs that have ended.

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// goOn continues the run of a conversation.
func (k talk) goOn(prompt string, change func(*runs.ContinueSpec)) (talk, runs.ContinueResult, error) {
	k.t.Helper()
	spec := runs.ContinueSpec{LaunchSpec: runs.LaunchSpec{
		ProjectID: k.project, RunID: k.order.RunID, Prompt: &prompt, Version: "1", Actor: policy.Actor{ID: "human", Role: "human"},
	}, Resume: runs.ResumeAuto}
	if change != nil {
		change(&spec)
	}
	result, err := runs.Continue(k.ctx, k.w, runs.NewAdmission(k.w, lane.Limits{Workspace: 4, Provider: 4, Team: 4}), k.launcher, spec)
	next := k
	next.order.SessionRef = result.SessionRef
	return next, result, err
}

// TestContinues checks that a new session of the run resumes the agent's own conversation.
// Earlier usage is not counted again.
func TestContinues(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("say one", nil)
	k.end()
	next, result, err := k.goOn("say two", nil)
	if err != nil || result.Session != 2 || result.Resumed != "provider" || result.ThreadID != "th_1" || result.SessionRef != k.order.SessionRef+"_2" {
		t.Fatalf("%+v: %v", result, err)
	}
	if record := next.end(); record.Status != doc.StatusEnded {
		t.Errorf("%+v", record)
	}
	run, err := runs.Load(k.w, k.project, k.order.RunID)
	if err != nil || run.Status != doc.StatusEnded || run.Live.Sessions != 2 || run.Live.Turns != 2 || run.Usage.TotalTokens != 65 || run.Live.PriorUsage.TotalTokens != 35 {
		t.Errorf("%+v %+v %+v: %v", run.Live, run.Usage, run.Live.PriorUsage, err)
	}
	if next.lastMessage() != "two" || !strings.Contains(next.output(next.order, "stdout.txt"), "one") {
		t.Error(next.lastMessage())
	}
	next.await(events.TurnStarted, func(p payload) bool { return p.Turn == 2 && p.Cause == "continue" && p.Text == "say two" })
}

// TestContinuesWithADigest checks that an agent begins with a digest if it cannot find its
// conversation, or must not resume it.
func TestContinuesWithADigest(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{true, false} {
		k := newStage(t).live("say one", nil)
		k.end()
		if lost {
			err := k.w.Update(k.ctx, func(u *workspace.Unit) error {
				file := workspace.RunFile(k.project, k.order.RunID)
				run, err := workspace.LoadIn(u, doc.RunCodec, file)
				if err != nil {
					return err
				}
				run.ProviderSessionID = "th_lost"
				return workspace.Put(u, doc.RunCodec, file, run, 0o644)
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := k.goOn("say x", func(s *runs.ContinueSpec) { s.Resume = runs.ResumeProvider; s.SessionRef = "must" }); !fault.Is(err, fault.ResumeFailed) {
				t.Error(err)
			}
		}
		next, result, err := k.goOn("say two", func(s *runs.ContinueSpec) {
			if !lost {
				s.Resume = runs.ResumeDigest
			}
		})
		if err != nil || result.Resumed != "digest" || lost != (result.ResumeError != "") {
			t.Fatalf("%+v: %v", result, err)
		}
		next.end()
		digest := "digest-2.md"
		if lost {
			digest = "digest-3.md"
		}
		if text := next.output(next.order, digest); !strings.Contains(text, "say one") || next.lastMessage() != "two" {
			t.Errorf("%s; %s", text, next.lastMessage())
		}
	}
}

// TestContinuesLive checks that an idle live session accepts the prompt of a continuation, and
// that a session in a turn refuses it.
func TestContinuesLive(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("hold", keepOpen)
	k.awaitSaid("holding")
	if _, _, err := k.goOn("more", nil); !fault.Is(err, fault.RunBusy) {
		t.Error(err)
	}
	k.say(session.SteerRequest{Text: "go on"})
	k.until("it is idle", func() bool { return k.record(k.order).Activity == "idle" })
	_, result, err := k.goOn("say two", func(s *runs.ContinueSpec) { s.ClientMessageID = "c1" })
	if err != nil || result.Resumed != "live" || result.Turn != 2 {
		t.Errorf("%+v: %v", result, err)
	}
	k.await(events.TurnEnded, func(p payload) bool { return p.Turn == 2 })
	if _, again, err := k.goOn("say two", func(s *runs.ContinueSpec) { s.ClientMessageID = "c1" }); err != nil || again.Turn != 2 {
		t.Errorf("%+v: %v", again, err)
	}
	k.stop()
	if _, again, err := k.goOn("say two", func(s *runs.ContinueSpec) { s.ClientMessageID = "c1" }); err != nil || again.Turn != 2 {
		t.Errorf("%+v: %v", again, err)
	}
	// The marker of the earlier stop does not end the next session.
	next, _, err := k.goOn("say three", func(s *runs.ContinueSpec) { s.Live.KeepOpen = new(false) })
	if err != nil {
		t.Fatal(err)
	}
	if record := next.end(); record.Status != doc.StatusEnded || next.lastMessage() != "three" {
		t.Errorf("%+v", record)
	}
}

// TestRefusedContinuation checks that a refused continuation leaves the run unchanged.
func TestRefusedContinuation(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("say one", nil)
	k.end()
	file := filepath.Join(k.w.Dir(), workspace.RunFile(k.project, k.order.RunID))
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*runs.ContinueSpec){
		func(s *runs.ContinueSpec) { s.Budget = &doc.Budget{HardTokens: new(int64(1))} },
		func(s *runs.ContinueSpec) { s.Prompt = nil },
		func(s *runs.ContinueSpec) { s.Live.Driver = session.DriverClaude },
		func(s *runs.ContinueSpec) { s.Live.Level = doc.LevelFull; s.Actor.Role = "worker" },
	} {
		if _, _, err := k.goOn("more", change); err == nil {
			t.Error("it went on")
		}
	}
	after, err := os.ReadFile(file)
	if err != nil || string(after) != string(before) {
		t.Errorf("%s, then %s: %v", before, after, err)
	}
	fresh := k
	fresh.order = k.turn("x")
	if _, _, err := fresh.goOn("more", nil); !fault.Is(err, fault.RunNotResumable) {
		t.Error(err)
	}
}

// TestTwoContinuations checks that exactly one of two concurrent continuations succeeds.
func TestTwoContinuations(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("say one", nil)
	k.end()
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, _, err := k.goOn("hold", nil)
			errs <- err
		}()
	}
	first, second := <-errs, <-errs
	if (first == nil) == (second == nil) || !fault.Is(errors.Join(first, second), fault.RunBusy) {
		t.Errorf("%v; %v", first, second)
	}
	run, err := runs.Load(k.w, k.project, k.order.RunID)
	if err != nil || run.Live.Sessions != 2 {
		t.Errorf("%+v: %v", run.Live, err)
	}
	k.order.SessionRef += "_2"
	k.awaitSaid("holding")
	k.stop()
}

// TestContinuesBehindItsLock checks that a continuation is not refused while the supervisor of
// the ended session still holds the run's lock for a moment.
func TestContinuesBehindItsLock(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("say one", nil)
	k.end()
	held, err := session.Reserve(t.Context(), k.w, k.project, k.order.RunID) // waits until the supervisor releases it
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { released <- held.RemoveAndRelease() })
	next, _, err := k.goOn("say two", nil)
	if err := errors.Join(err, <-released); err != nil {
		t.Fatal(err)
	}
	if next.end(); next.lastMessage() != "two" {
		t.Error(next.lastMessage())
	}
}

// TestContinuationKilled kills the supervisor of a continuation. Reconciling its session ends
// the run again, and the run can be continued once more.
func TestContinuationKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.litter = true
	k := s.live("say one", nil)
	k.end()
	next, _, err := k.goOn("hold", nil)
	if err != nil {
		t.Fatal(err)
	}
	next.awaitSaid("holding")
	k.kill(*next.record(next.order).OwnerPID)
	k.until("the supervisor is gone", func() bool { return !session.Live(k.w, next.record(next.order)) })
	if record := next.end(); record.Status != doc.StatusFailed {
		t.Errorf("%+v", record)
	}
	run, err := runs.Load(k.w, k.project, k.order.RunID)
	if err != nil || run.Usage == nil || run.Usage.TotalTokens < 35 {
		t.Errorf("%+v: %v", run.Usage, err)
	}
	last, _, err := k.goOn("say three", nil)
	if err != nil {
		t.Fatal(err)
	}
	if record := last.end(); record.Status != doc.StatusEnded || last.lastMessage() != "three" {
		t.Errorf("%+v", record)
	}
}

// TestSaidOnce checks that a client message id makes a text idempotent within a run, even
// across sessions. The text may be sent as a prompt, a continuation or a steer. A repeat
// returns the first result, and the agent does not receive the text again.
func TestSaidOnce(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("hold", keepOpen)
	k.awaitSaid("holding")
	act := runs.Act{ProjectID: k.project, RunID: k.order.RunID, Actor: policy.Actor{ID: "human", Role: "human"}}
	steer := func(id string) session.SteerResult {
		said, err := runs.Steer(k.ctx, k.w, act, session.SteerRequest{Text: "say " + id, ClientMessageID: id}, false)
		if err != nil || !said.Accepted {
			t.Fatalf("%s: %+v: %v", id, said, err)
		}
		return said
	}
	goOn := func(id string) runs.ContinueResult {
		_, result, err := k.goOn("say "+id, func(s *runs.ContinueSpec) { s.ClientMessageID = id })
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		return result
	}
	first := steer("c-steer")
	if again := goOn("c-steer"); again.Turn != first.Turn || again.Resumed != "live" {
		t.Errorf("a text as a prompt: %+v", again)
	}
	k.until("it is idle", func() bool { return k.record(k.order).Activity == "idle" })
	prompt := goOn("c-prompt")
	if again := steer("c-prompt"); again.Turn != prompt.Turn || again.Delivery != session.DeliveryNewTurn {
		t.Errorf("a prompt as a text: %+v", again)
	}
	k.until("it is idle", func() bool { return k.record(k.order).Activity == "idle" })
	k.stop()
	continued := goOn("c-continue")
	if continued.Resumed != "provider" || continued.ThreadID != "th_1" {
		t.Errorf("%+v", continued)
	}
	if again := goOn("c-continue"); again != continued {
		t.Errorf("a continuation again: %+v, not %+v", again, continued)
	}
	for _, id := range []string{"c-continue", "c-prompt", "c-steer"} {
		steer(id)
	}
	next := k
	next.order.SessionRef = continued.SessionRef
	next.stop()
	if again := goOn("c-continue"); again != continued {
		t.Errorf("a continuation that is over: %+v, not %+v", again, continued)
	}
	texts := strings.Join(k.log(k.order), "\n")
	for _, id := range []string{"c-steer", "c-prompt", "c-continue"} {
		if n := strings.Count(texts, `"text":"say `+id+`"`); n != 1 {
			t.Errorf("%s was said %d times", id, n)
		}
	}
}

// TestContinuesAsBefore checks that the next session keeps the limits of the previous one.
// While it is live, continuations with settings that it cannot change are refused.
func TestContinuesAsBefore(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("say one", func(l *session.LiveOrder) { l.PermissionMS, l.QuestionMS = 7_000, 9_000 })
	k.end()
	next, _, err := k.goOn("ask touch x", func(s *runs.ContinueSpec) { s.Live.KeepOpen = new(true) })
	if err != nil {
		t.Fatal(err)
	}
	record := next.record(next.order)
	if record.PermissionTimeoutMS != 7_000 || record.QuestionTimeoutMS != 9_000 {
		t.Errorf("%+v", record)
	}
	if _, err := next.respond(session.AnswerRequest{InteractionID: next.asked(), Decision: "allow"}); err != nil {
		t.Error(err)
	}
	next.until("it is idle", func() bool { return next.record(next.order).Activity == "idle" })
	for field, change := range map[string]func(*runs.ContinueSpec){
		"env":         func(s *runs.ContinueSpec) { s.Env = map[string]string{"A": "b"} },
		"budget":      func(s *runs.ContinueSpec) { s.Budget = &doc.Budget{HardTokens: new(int64(9))} },
		"resume":      func(s *runs.ContinueSpec) { s.Resume = runs.ResumeDigest },
		"session_ref": func(s *runs.ContinueSpec) { s.SessionRef = "mine" },
		"keep_open":   func(s *runs.ContinueSpec) { s.Live.KeepOpen = new(true) },
	} {
		_, _, err := next.goOn("more", change)
		if refusal, ok := errors.AsType[*fault.Error](err); !ok || !fault.Is(err, fault.InvalidParams) || !strings.Contains(refusal.InFull(), field+": does not change") {
			t.Errorf("%s: %v", field, err)
		}
	}
	next.stop()
}
