package supervisor_test

// Conversations with a scripted agent: requests, answers, texts and interruptions, and what the
// log guarantees about them.

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/events"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/workspace/doc"
)

// TestAnswers has a row for each way to answer a permission request.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer session.AnswerRequest
		state  string
		heard  string
	}{
		{"allow", session.AnswerRequest{Decision: "allow"}, "allowed", "answer: accept"},
		{"by option", session.AnswerRequest{OptionID: "allow"}, "allowed", "answer: accept"},
		{"for the session", session.AnswerRequest{Decision: "allow", Scope: "session"}, "allowed", "answer: acceptForSession"},
		{"deny", session.AnswerRequest{Decision: "deny"}, "denied", "answer: decline"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newStage(t).live("ask touch x", nil)
			c.answer.InteractionID = k.asked()
			k.until("the record tells what it waits for", func() bool { return k.record(k.order).Activity == "waiting_permission" })
			result, err := k.respond(c.answer)
			if err != nil || result.State != c.state || !result.HandedOver {
				t.Errorf("%+v: %v", result, err)
			}
			if record := k.end(); record.Status != doc.StatusEnded {
				t.Errorf("%s: %s", record.Status, record.Error)
			}
			if k.lastMessage() != c.heard {
				t.Error(k.lastMessage())
			}
			k.before(isType(events.PermissionJudged), isType(events.InteractionRequested))
			k.before(isType(events.InteractionResolved), saying("serverRequest/resolved"))
			k.before(saying("turn/completed"), isType(events.TurnEnded))
		})
	}
}

// TestQuestionCancelled checks that a question can be closed without an answer, and that the
// turn continues. A permission request cannot be closed that way.
func TestQuestionCancelled(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("question Which colour?", nil)
	got, err := k.respond(session.AnswerRequest{InteractionID: k.asked(), Cancel: true})
	if err != nil || got.State != interaction.Cancelled || !got.HandedOver {
		t.Fatalf("%+v %v", got, err)
	}
	k.end()
	if k.lastMessage() != "answer: " {
		t.Error(k.lastMessage())
	}
	if all := strings.Join(k.log(k.order), "\n"); !strings.Contains(all, `"state":"cancelled"`) || strings.Contains(all, `"status":"interrupted"`) {
		t.Error(all)
	}
	k = newStage(t).live("ask make", nil)
	id := k.asked()
	if _, err := k.respond(session.AnswerRequest{InteractionID: id, Cancel: true}); !fault.Is(err, fault.InteractionKindMismatch) {
		t.Error(err)
	}
	if _, err := k.respond(session.AnswerRequest{InteractionID: id, Decision: "deny"}); err != nil {
		t.Error(err)
	}
	k.end()
}

// TestQuestionAnswered checks that a question is answered by one of its choices, and that a
// secret answer is masked everywhere in the log.
func TestQuestionAnswered(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("question Which colour?", nil)
	if _, err := k.respond(session.AnswerRequest{InteractionID: k.asked(), OptionID: "choice_2"}); err != nil {
		t.Fatal(err)
	}
	k.end()
	if k.lastMessage() != "answer: Blue" {
		t.Error(k.lastMessage())
	}
	k = newStage(t).live("question secret word?", nil)
	if _, err := k.respond(session.AnswerRequest{InteractionID: k.asked(), Text: new("hunter2hunter2")}); err != nil {
		t.Fatal(err)
	}
	k.end()
	if all := strings.Join(k.log(k.order), "\n"); strings.Contains(all, "hunter2") || !strings.Contains(all, `"answers":{"q":["[REDACTED]"]}`) {
		t.Errorf("the secret answer is in the log, or no answer is: %s", k.lastMessage())
	}
	if k.lastMessage() != "answer: [REDACTED]" {
		t.Error(k.lastMessage())
	}
}

// TestTimedOut checks that the supervisor answers requests that nobody answers in time.
func TestTimedOut(t *testing.T) {
	t.Parallel()
	for prompt, heard := range map[string]string{"ask touch x": "answer: decline", "question Which?": "answer: "} {
		k := newStage(t).live(prompt, func(l *session.LiveOrder) { l.PermissionMS, l.QuestionMS = 20, 20 })
		if p := k.await(events.InteractionResolved, nil); p.State != "timed_out" || p.Reason != "timeout" || p.By != "system" {
			t.Errorf("%+v", p)
		}
		k.end()
		if k.lastMessage() != strings.TrimSpace(heard) && k.lastMessage() != heard {
			t.Errorf("%q", k.lastMessage())
		}
	}
}

// TestJudged checks that the policy answers the requests it covers, without asking anybody.
func TestJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		change       func(*session.LiveOrder)
		by, heard    string
		interactions int
	}{
		{"mode", func(l *session.LiveOrder) { l.Policy.Mode = doc.ModeFullAuto }, "mode", "answer: accept", 0},
		{"not interactive", func(l *session.LiveOrder) { l.Interactive = false }, "not_interactive", "answer: decline", 0},
		{"rule", func(l *session.LiveOrder) {
			l.Policy.Rules = []doc.PolicyRule{{ID: "rule_1", Operation: doc.OpExec, Effect: doc.Allow, Glob: "touch *"}}
		}, "rule", "answer: accept", 0},
		{"plan", func(l *session.LiveOrder) { l.Policy.Mode = doc.ModePlan }, "mode", "answer: decline", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newStage(t).live("ask touch x", c.change)
			if p := k.await(events.PermissionJudged, nil); p.By != c.by {
				t.Errorf("%+v", p)
			}
			k.end()
			if k.lastMessage() != c.heard || strings.Contains(strings.Join(k.log(k.order), "\n"), events.InteractionRequested) {
				t.Error(k.lastMessage())
			}
			k.before(isType(events.PermissionJudged), saying("serverRequest/resolved"))
		})
	}
}

// TestAnswerBehindTheEnd checks the errors of answers that arrive after another answer has
// ended the session. The request that was answered is closed; for an unknown request, the
// session is over.
func TestAnswerBehindTheEnd(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("ask touch x", nil)
	id := k.asked()
	live := k.record(k.order)
	if _, err := k.respond(session.AnswerRequest{InteractionID: id, Decision: "allow"}); err != nil {
		t.Fatal(err)
	}
	k.end()
	for asked, want := range map[string]fault.Reason{id: fault.InteractionClosed, "int_none": fault.RunNotLive} {
		_, err := session.Respond(k.ctx, k.w, live, session.AnswerRequest{InteractionID: asked, Decision: "deny", Actor: "human", Role: "human"})
		if !fault.Is(err, want) {
			t.Errorf("%s: %v", asked, err)
		}
	}
}

// TestOneAnswer checks that one of two concurrent answers wins, and that the other is refused.
func TestOneAnswer(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("ask touch x", nil)
	id := k.asked()
	var wg sync.WaitGroup
	results := make([]error, 2)
	for i, decision := range []string{"allow", "deny"} {
		wg.Go(func() {
			_, results[i] = k.respond(session.AnswerRequest{InteractionID: id, Decision: decision})
		})
	}
	wg.Wait()
	lost := slices.IndexFunc(results, func(err error) bool { return err != nil })
	if lost < 0 || results[1-lost] != nil || !fault.Is(results[lost], fault.InteractionClosed) {
		t.Errorf("%v", results)
	}
	k.end()
	if want := []string{"answer: decline", "answer: accept"}[lost]; k.lastMessage() != want {
		t.Errorf("%s, where answer %d was refused", k.lastMessage(), lost+1)
	}
}

// TestWithdrawn checks that a request is closed if the agent withdraws it.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("withdraw touch x; hold", nil)
	if p := k.await(events.InteractionResolved, nil); p.State != "cancelled" || p.Reason != "withdrawn" {
		t.Errorf("%+v", p)
	}
	if _, err := k.respond(session.AnswerRequest{InteractionID: k.asked(), Decision: "allow"}); !fault.Is(err, fault.InteractionClosed) {
		t.Error(err)
	}
	k.stop()
}

// TestPolicyChanges checks that open requests are judged again after a change of the policy,
// and that answers for the session become rules.
func TestPolicyChanges(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("ask touch x; ask touch y", nil)
	id := k.asked()
	changed, err := session.SetPolicy(k.ctx, k.w, k.record(k.order), session.PolicyRequest{Actor: "human", Mode: doc.ModeFullAuto})
	if err != nil || len(changed.Resolved) != 1 || changed.Resolved[0] != id {
		t.Errorf("%+v: %v", changed, err)
	}
	k.end()
	run, err := runs.Load(k.w, k.project, k.order.RunID)
	if err != nil || run.Live == nil || run.Live.Policy.Mode != doc.ModeFullAuto || run.Live.Sessions != 1 || run.Live.Turns != 1 || run.Live.AgentVersion != "9.9.9" {
		t.Errorf("%+v: %v", run.Live, err)
	}
	if record := k.record(k.order); record.Driver != session.DriverCodex || record.Turn != 1 {
		t.Errorf("%+v", record)
	}
	k.before(isType(events.RunPolicyChanged), isType(events.InteractionResolved))
	k = newStage(t).live("ask touch x; ask touch x", nil)
	if _, err := k.respond(session.AnswerRequest{InteractionID: k.asked(), Decision: "allow", Scope: "session"}); err != nil {
		t.Fatal(err)
	}
	if k.end(); strings.Count(strings.Join(k.log(k.order), "\n"), `"type":"interaction.requested"`) != 1 {
		t.Error("it was asked again")
	}
}

// TestSteers sends texts to codex in each way: within a turn, as a new turn, after the turn and
// with an interruption. A repeated text is not sent again.
func TestSteers(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("hold", keepOpen)
	k.awaitSaid("holding")
	mid := k.say(session.SteerRequest{Text: "faster", ClientMessageID: "m1"})
	if mid.Delivery != "mid_turn" || mid.Turn != 1 {
		t.Errorf("%+v", mid)
	}
	if p := k.await(events.SteerApplied, nil); p.How != "mid_turn" || p.SteerID != mid.SteerID {
		t.Errorf("%+v", p)
	}
	k.until("it is idle", func() bool { return k.record(k.order).Activity == "idle" })
	if again := k.say(session.SteerRequest{Text: "faster", ClientMessageID: "m1"}); again != mid {
		t.Errorf("%+v, then %+v", mid, again)
	}
	if fresh := k.say(session.SteerRequest{Text: "hold"}); fresh.Delivery != "new_turn" || fresh.Turn != 2 {
		t.Errorf("%+v", fresh)
	}
	k.await(events.TurnStarted, func(p payload) bool { return p.Turn == 2 && p.Cause == "steer" && len(p.SteerIDs) == 1 && p.Text == "" })
	if after := k.say(session.SteerRequest{Text: "say later", Mode: session.ModeAfterTurn}); after.Delivery != "next_turn" || after.QueueLength != 1 {
		t.Errorf("%+v", after)
	}
	if cut := k.say(session.SteerRequest{Text: "say now", Mode: session.ModeInterrupt}); cut.Delivery != "interrupt" {
		t.Errorf("%+v", cut)
	}
	k.await(events.TurnEnded, func(p payload) bool { return p.Turn == 2 && p.Status == "interrupted" })
	k.awaitSaid(`"now"`)
	k.await(events.TurnEnded, func(p payload) bool { return p.Turn == 4 })
	if _, err := session.Steer(k.ctx, k.w, k.record(k.order), session.SteerRequest{Text: "x", ExpectedTurn: 4}); !fault.Is(err, fault.TurnMismatch) {
		t.Error(err)
	}
	if record := k.stop(); record.Status != doc.StatusStopped {
		t.Errorf("%+v", record)
	}
	if k.lastMessage() != "later" {
		t.Error(k.lastMessage())
	}
	k.before(isType(events.SteerQueued), isType(events.SteerApplied))
}

// TestFull checks that at most 32 texts may wait, and that a stop discards them.
func TestFull(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("hold", nil)
	k.awaitSaid("holding")
	for range 32 {
		k.say(session.SteerRequest{Text: "later", Mode: session.ModeAfterTurn})
	}
	_, err := session.Steer(k.ctx, k.w, k.record(k.order), session.SteerRequest{Text: "more", Mode: session.ModeAfterTurn})
	if !fault.Is(err, fault.SteerQueueFull) {
		t.Error(err)
	}
	k.stop()
	if n := strings.Count(strings.Join(k.log(k.order), "\n"), `"reason":"stopped"}`); n != 32 {
		t.Errorf("%d discarded", n)
	}
}

// TestTooManyOpen checks that at most 64 requests may be open. Each further one is refused,
// with a notice.
func TestTooManyOpen(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("flood touch x", nil)
	k.end()
	all := strings.Join(k.log(k.order), "\n")
	for what, want := range map[string]int{
		`"type":"interaction.requested"`: 64, `"type":"interaction.resolved"`: 64, `"type":"permission.judged"`: 66, `"effect":"ask"`: 64, `"type":"run.notice"`: 2, "this one is refused: touch x": 2,
	} {
		if n := strings.Count(all, what); n != want {
			t.Errorf("%s: %d, not %d", what, n, want)
		}
	}
}

// TestInterrupted checks that an interruption ends the turn, and also the session unless that
// is kept open.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		k := newStage(t).live("ask touch x; hold", func(l *session.LiveOrder) { l.KeepOpen = open })
		k.asked()
		result, err := session.Interrupt(k.ctx, k.w, k.record(k.order), session.InterruptRequest{Actor: "human"})
		if err != nil || !result.Interrupted || result.Turn != 1 {
			t.Errorf("%+v: %v", result, err)
		}
		if p := k.await(events.InteractionResolved, nil); p.Reason != "interrupted" {
			t.Errorf("%+v", p)
		}
		k.await(events.TurnEnded, func(p payload) bool { return p.Status == "interrupted" })
		if open {
			k.until("it is idle", func() bool { return k.record(k.order).Activity == "idle" })
			if _, err := session.Interrupt(k.ctx, k.w, k.record(k.order), session.InterruptRequest{}); !fault.Is(err, fault.NoActiveTurn) {
				t.Error(err)
			}
			k.stop()
			continue
		}
		if record := k.end(); record.Status != doc.StatusStopped || *record.ExitCode != 1 {
			t.Errorf("%+v", record)
		}
	}
}

// TestDeaf checks that the session fails if the agent does not end its turn when interrupted.
func TestDeaf(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("deaf", keepOpen)
	k.awaitSaid("holding")
	if _, err := session.Interrupt(k.ctx, k.w, k.record(k.order), session.InterruptRequest{}); err != nil {
		t.Fatal(err)
	}
	if record := k.end(); record.Status != doc.StatusFailed {
		t.Errorf("%+v", record)
	}
	if p := k.await(events.TurnEnded, nil); p.Reason != "interrupt_timeout" || p.Status != "failed" {
		t.Errorf("%+v", p)
	}
}

// TestStuck checks that the session fails if the agent does not read its input.
func TestStuck(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("stuff", nil)
	k.awaitSaid("stuffed")
	for range 8 { // more than its pipe holds
		ctx, cancel := context.WithTimeout(k.ctx, patience)
		_, _ = session.Steer(ctx, k.w, k.record(k.order), session.SteerRequest{Text: strings.Repeat("x", 60<<10)}) // the last ones may find no session
		cancel()
	}
	record := k.end()
	if record.Status != doc.StatusFailed || !strings.Contains(record.Error, "does not read") {
		t.Errorf("%+v", record)
	}
	if all := k.log(k.order); !strings.Contains(all[len(all)-1], `"reason":"agent_stuck"`) {
		t.Error(all[len(all)-1])
	}
}

// TestInputClosed checks that an agent that closes its input but stays alive is reported as
// stuck. An agent that died is reported as ended, with its last words, even if a text was sent
// before its death was noticed.
func TestInputClosed(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string][2]string{
		"shut":         {"does not read its input", "agent_stuck"},
		"shut and ask": {"does not read its input", "agent_stuck"},
		"shut and die": {"before its turn was completed: out of luck", "agent_ended"},
	} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			k := newStage(t).live(prompt, func(l *session.LiveOrder) { l.Policy.Mode = doc.ModeFullAuto })
			k.awaitSaid("shut")
			_, err := session.Steer(k.ctx, k.w, k.record(k.order), session.SteerRequest{Text: "hello"})
			if err != nil {
				t.Errorf("its text was not taken: %v", err)
			}
			if record := k.end(); record.Status != doc.StatusFailed || !strings.Contains(record.Error, want[0]) {
				t.Errorf("%s: %s", record.Status, record.Error)
			}
			if p := k.await(events.TurnEnded, nil); p.Reason != want[1] || p.Status != "failed" {
				t.Errorf("%+v", p)
			}
			if p := k.await(events.SteerDiscarded, nil); p.Reason != "session_ended" {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestLiveEnds has a row for each way a live session can end.
func TestLiveEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prompt string
		change func(*session.LiveOrder)
		status string
		error  string
		reason string
	}{
		{"hello", nil, doc.StatusEnded, "", ""},
		{"fail no luck", nil, doc.StatusFailed, "no luck", ""},
		{"fail no luck", func(l *session.LiveOrder) { l.KeepOpen, l.IdleMS = true, 20 }, doc.StatusFailed, "no luck", ""},
		{"hello", func(l *session.LiveOrder) { l.KeepOpen, l.IdleMS = true, 20 }, doc.StatusEnded, "", ""},
		{"", func(l *session.LiveOrder) { l.KeepOpen, l.IdleMS = true, 20 }, doc.StatusEnded, "", ""},
		{"die", nil, doc.StatusFailed, "out of luck", "agent_ended"},
		{"vanish", nil, doc.StatusFailed, "before its turn was completed", "agent_ended"},
	} {
		t.Run(c.prompt+" "+c.status, func(t *testing.T) {
			t.Parallel()
			k := newStage(t).live(c.prompt, c.change)
			record := k.end()
			if record.Status != c.status || !strings.Contains(record.Error, c.error) {
				t.Errorf("%s: %s", record.Status, record.Error)
			}
			lines := k.log(k.order)
			if last := lines[len(lines)-1]; !strings.Contains(last, `"reason":"`+c.reason) && c.reason != "" {
				t.Error(last)
			}
			if time.UnixMilli(*record.EndedAtMS).Before(time.UnixMilli(record.StartedAtMS)) {
				t.Error("it ended before it began")
			}
		})
	}
}
