package supervisor_test

// Compaction of conversations: by the agent itself, or by a new conversation that begins with a
// digest.

import (
	"strings"
	"testing"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace/doc"
)

func (k talk) compact() (session.CompactResult, error) {
	return runs.Compact(k.ctx, k.w, runs.Act{ProjectID: k.project, RunID: k.order.RunID, Actor: policy.Actor{ID: "human", Role: "human"}})
}

// TestCompacts checks that a compaction follows the current turn and the texts queued before
// it, and precedes later texts. It does not count as a turn.
func TestCompacts(t *testing.T) {
	t.Parallel()
	for driver, how := range map[string]string{session.DriverCodex: "provider", session.DriverClaude: "provider", session.DriverACP: "digest"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			k := newStage(t).liveOf(driver, "ask touch x; say one", keepOpen)
			id := k.asked()
			k.say(session.SteerRequest{Text: "say two", Mode: session.ModeAfterTurn})
			result, err := k.compact()
			if err != nil || !result.Accepted || result.How != how {
				t.Fatalf("%+v: %v", result, err)
			}
			if how == "provider" { // queued after the compaction
				k.say(session.SteerRequest{Text: "say three", Mode: session.ModeAfterTurn})
			}
			if _, err := k.respond(session.AnswerRequest{InteractionID: id, Decision: "allow"}); err != nil {
				t.Fatal(err)
			}
			if how == "digest" { // sent while the agent restarts
				k.await(events.Compacted, nil)
				k.say(session.SteerRequest{Text: "say three"})
			}
			k.await(events.TurnEnded, func(p payload) bool { return p.Turn == 3 })
			turn := func(kind string, number int) func(event) bool {
				return func(e event) bool { return e.Type == kind && e.read().Turn == number }
			}
			k.before(turn(events.TurnEnded, 2), isType(events.Compacted))
			k.before(isType(events.Compacted), turn(events.TurnStarted, 3))
			if k.stop(); k.lastMessage() != "three" {
				t.Error(k.lastMessage())
			}
			run, err := runs.Load(k.w, k.project, k.order.RunID)
			if err != nil || (run.Live.ThreadSpent != nil) != (how == "digest") || how == "digest" && *run.Live.ThreadSpent.TotalTokens != 70 {
				t.Errorf("%+v: %v", run.Live.ThreadSpent, err)
			}
			all := strings.Join(k.log(k.order), "\n")
			if strings.Count(all, `"run.compacted"`) != 1 || !strings.Contains(all, `"how":"`+how+`","ok":true`) {
				t.Error("it is not told, or twice")
			}
			if digest := strings.Contains(all, `"digest_relpath"`); digest != (how == "digest") {
				t.Errorf("a digest: %v", digest)
			}
		})
	}
}

// TestCompactsLater checks that a compacted run without a session begins its next session with
// a digest, once.
func TestCompactsLater(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("say one", nil)
	k.end()
	if result, err := k.compact(); err != nil || result.How != "digest" {
		t.Fatalf("%+v: %v", result, err)
	}
	for _, want := range []string{"digest", "provider"} {
		next, result, err := k.goOn("say more", nil)
		if err != nil || result.Resumed != want {
			t.Errorf("%+v: %v", result, err)
		}
		next.end()
	}
	fresh := k
	fresh.order = k.turn("x")
	if _, err := fresh.compact(); !fault.Is(err, fault.RunNotResumable) {
		t.Error(err)
	}
}

// TestCompactionInterrupted checks that a compaction is recorded as failed if its session ends
// first.
func TestCompactionInterrupted(t *testing.T) {
	t.Parallel()
	k := newStage(t).live("hold", nil)
	k.awaitSaid("holding")
	if _, err := k.compact(); err != nil {
		t.Fatal(err)
	}
	if record := k.stop(); record.Status != doc.StatusStopped {
		t.Errorf("%+v", record)
	}
	if all := strings.Join(k.log(k.order), "\n"); !strings.Contains(all, `"how":"provider","ok":false,"error":"the session ended"`) {
		t.Error("nothing tells that it was not compacted")
	}
}
