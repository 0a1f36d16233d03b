package supervisor_test

// Deaths in the middle of a conversation: each process dies after each step of asking,
// answering, steering and interrupting, and when idle. The log verifies, everything that began
// has ended once, and no process survives.

import (
	"strings"
	"testing"

	"ac/events"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/runs/session"
	"ac/workspace/doc"
)

func TestLiveDeaths(t *testing.T) {
	t.Parallel()
	moments := map[string]func(k talk){
		"asked": func(k talk) { k.asked() },
		"answered": func(k talk) {
			if _, err := k.respond(session.AnswerRequest{InteractionID: k.asked(), Decision: "allow"}); err != nil {
				k.t.Error(err)
			}
		},
		"steered": func(k talk) {
			k.asked()
			k.say(session.SteerRequest{Text: "later", Mode: session.ModeAfterTurn})
			k.say(session.SteerRequest{Text: "now"})
		},
		"interrupted": func(k talk) {
			k.asked()
			k.say(session.SteerRequest{Text: "hold", Mode: session.ModeInterrupt})
		},
		"idle": func(k talk) {
			if _, err := k.respond(session.AnswerRequest{InteractionID: k.asked(), Decision: "allow"}); err != nil {
				k.t.Error(err)
			}
			k.awaitSaid("holding")
			k.say(session.SteerRequest{Text: "go on"})
			k.until("it is idle", func() bool { return k.record(k.order).Activity == "idle" })
		},
	}
	for name, reach := range moments {
		for _, victim := range []string{"supervisor", "guard", "agent"} {
			t.Run(name+", then the "+victim+" dies", func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				k := s.live("ask touch x; hold", keepOpen)
				reach(k)
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
				record = k.end()
				if record.Status != doc.StatusFailed {
					t.Errorf("%s: %s", record.Status, record.Error)
				}
				if victim == "supervisor" && name != "idle" && name != "interrupted" { // the other moments have a turn in progress
					k.await(events.TurnEnded, func(p payload) bool { return p.Status == "lost" })
				}
				if _, err := k.respond(session.AnswerRequest{InteractionID: "int_x", Decision: "allow"}); !fault.Is(err, fault.RunNotLive) {
					t.Error(err)
				}
				s.gone()
			})
		}
	}
}

// TestAcknowledged checks that each answer and text that was acknowledged before the supervisor
// was killed is in the log exactly once.
func TestAcknowledged(t *testing.T) {
	t.Parallel()
	for range 8 {
		s := newStage(t)
		s.litter = true
		k := s.live("ask touch x; hold", keepOpen)
		id := k.asked()
		record := k.record(k.order)
		killed := make(chan error, 1)
		go func() { killed <- proc.Kill(*record.OwnerPID) }()
		answered, err := k.respond(session.AnswerRequest{InteractionID: id, Decision: "allow"})
		said, steerErr := session.Steer(k.ctx, k.w, record, session.SteerRequest{Text: "said"})
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
		k.until("the supervisor is gone", func() bool { return !session.Live(k.w, k.record(k.order)) })
		k.end()
		all := strings.Join(k.log(k.order), "\n")
		if err == nil && strings.Count(all, `"interaction_id":"`+answered.InteractionID+`","kind":"permission","state":"allowed"`) != 1 {
			t.Error("an acknowledged answer is lost, or stands twice")
		}
		if steerErr == nil && strings.Count(all, `"type":"run.steer_queued","payload":{"steer_id":"`+said.SteerID) != 1 {
			t.Error("an acknowledged text is lost, or stands twice")
		}
	}
}

// TestUndelivered answers a request whose agent has just been killed. If the answer is accepted
// but not delivered, the log reports that.
func TestUndelivered(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("ask touch x", keepOpen)
	id := k.asked()
	record := k.record(k.order)
	k.kill(*record.PID)
	result, err := k.respond(session.AnswerRequest{InteractionID: id, Decision: "allow"})
	k.end()
	// The supervisor may have noticed the agent's death before the answer.
	if err == nil && !result.HandedOver && !strings.Contains(strings.Join(k.log(k.order), "\n"), events.InteractionUndelivered) {
		t.Errorf("%+v: nothing tells of it", result)
	}
	if err != nil && !fault.Is(err, fault.InteractionClosed) && !fault.Is(err, fault.RunNotLive) {
		t.Error(err)
	}
}
