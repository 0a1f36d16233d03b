package supervisor_test

// A campaign of deaths in conversations with each driver. A process is killed, or a caller
// hangs up, at a random moment of asking, answering, steering, interrupting or continuing. A
// long campaign:
//
//	go test ./runs/session/supervisor -run TestLiveKills -live-kills 2000

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/events"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace/doc"
)

var (
	liveKills    = flag.Int("live-kills", 15, "how many conversations lose a process at a random moment")
	liveKillSeed = flag.Uint64("live-kill-seed", 0, "of the moments; 0 draws one")
)

// killed is one conversation of the campaign.
type killed struct {
	talk
	random *rand.Rand
	victim string
	hangUp context.CancelFunc
	calls  context.Context //nolint:containedctx // ends with the caller's life

	wg       sync.WaitGroup
	mu       sync.Mutex
	answered []session.AnswerResult
	said     map[string]session.SteerResult // by client message id
}

func TestLiveKills(t *testing.T) {
	t.Parallel()
	seed := *liveKillSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	drivers := []string{session.DriverCodex, session.DriverClaude, session.DriverACP}
	steps := []string{"asking", "answering", "steering", "interrupting", "continuing"}
	victims := []string{"supervisor", "guard", "agent", "caller"}
	for i := range *liveKills {
		n := int(seed%60) + i
		driver, step, victim := drivers[n%3], steps[n/3%5], victims[n/15%4]
		t.Run(fmt.Sprintf("%d, %s, %s, the %s", i, driver, step, victim), func(t *testing.T) {
			t.Parallel()
			t.Logf("-live-kill-seed %d", seed)
			s := newStage(t)
			s.litter, s.torn = victim == "supervisor", victim == "supervisor"
			k := &killed{talk: talk{stage: s}, random: rand.New(rand.NewPCG(seed, uint64(i))), victim: victim, said: map[string]session.SteerResult{}}
			k.calls, k.hangUp = context.WithCancel(t.Context())
			defer k.hangUp()
			k.reach(driver, step)
			k.wg.Wait()
			k.settle()
			k.check()
			k.goesOn()
		})
	}
}

// strike kills the victim, or makes the caller hang up, after a random time below the given
// one.
func (k *killed) strike(within time.Duration) {
	wait := time.Duration(k.random.Int64N(int64(within)))
	k.wg.Go(func() {
		time.Sleep(wait) // the moment is random
		if k.victim == "caller" {
			k.hangUp()
			return
		}
		record, err := session.Read(k.w, k.order.SessionRef)
		if err != nil || record.OwnerPID == nil || doc.Terminal(record.Status) {
			return // too early, or too late
		}
		victim := record.OwnerPID
		switch k.victim {
		case "guard":
			if children, err := proc.Children(*victim); err == nil && len(children) == 1 {
				victim = &children[0]
			}
		case "agent":
			victim = record.PID
		}
		if victim != nil {
			_ = proc.Kill(*victim) // it may be gone
		}
	})
}

// reach begins a conversation and strikes at one of its steps.
func (k *killed) reach(driver, step string) {
	switch step {
	case "asking":
		k.order = k.turnOf(driver, "ask touch x; say done")
		k.order.Live.Interactive, k.order.Live.PermissionMS, k.order.Live.QuestionMS, k.order.Live.Policy.Mode = true, 60_000, 60_000, doc.ModeDefault
		k.strike(150 * time.Millisecond)
		_ = k.launcher.Launch(k.ctx, k.order) // the supervisor may not live to accept it
		return
	case "continuing":
		k.talk = k.liveOf(driver, "say one", nil)
		k.end()
		k.order.SessionRef += "_2"
		k.strike(150 * time.Millisecond)
		first := k.talk
		first.order.SessionRef = session.LocalRef(k.order.RunID)
		_, _, _ = first.goOn("ask touch x; say two", nil) // as above
		return
	}
	k.talk = k.liveOf(driver, "ask touch x; say done", keepOpen)
	id := k.asked()
	k.strike(6 * time.Millisecond)
	switch step {
	case "answering":
		k.answer(id, "allow")
		k.answer(id, "deny")
	case "steering":
		k.tell("u-1", session.ModeNextTurn)
		k.tell("u-2", session.ModeAfterTurn)
		k.answer(id, "allow")
		k.tell("u-3", session.ModeNextTurn)
	case "interrupting":
		k.tell("u-1", session.ModeInterrupt)
		k.answer(id, "deny")
		k.tell("u-2", session.ModeAfterTurn)
	}
}

// answer answers a request concurrently with other calls.
func (k *killed) answer(id, decision string) {
	record := k.record(k.order)
	k.wg.Go(func() {
		result, err := session.Respond(k.calls, k.w, record, session.AnswerRequest{Actor: "human", Role: "human", InteractionID: id, Decision: decision})
		if err == nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.answered = append(k.answered, result)
		} else {
			k.excuse(err, fault.InteractionClosed)
		}
	})
}

// tell sends a text concurrently with other calls.
func (k *killed) tell(text, mode string) {
	record := k.record(k.order)
	p := session.SteerRequest{Text: text, Mode: mode, ClientMessageID: text}
	k.wg.Go(func() {
		result, err := session.Steer(k.calls, k.w, record, p)
		if k.calls.Err() != nil { // a caller that does not know the outcome retries
			result, err = session.Steer(k.ctx, k.w, record, p)
		}
		if err == nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.said[text] = result
		} else {
			k.excuse(err)
		}
	})
}

// excuse reports an error unless the death explains it. It also accepts the reasons in more.
func (k *killed) excuse(err error, more ...fault.Reason) {
	if k.calls.Err() == nil && !slices.Contains(append(more, fault.RunNotLive, fault.SupervisorUnreachable), fault.ReasonOf(err)) {
		k.t.Errorf("%s: %v", fault.ReasonOf(err), err)
	}
}

// settle waits briefly for the end of the session, and stops it if it goes on.
func (k *killed) settle() {
	if _, err := session.Read(k.w, k.order.SessionRef); err != nil {
		return // it never began
	}
	ctx, cancel := context.WithTimeout(k.ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := session.Collect(ctx, k.w, k.order.SessionRef); err == nil {
		return
	}
	if _, err := session.Stop(k.ctx, k.w, k.order.SessionRef); err != nil {
		k.t.Error(err)
	}
}

// check checks that the log has what was acknowledged, and that it keeps its guarantees.
func (k *killed) check() {
	k.t.Helper()
	if _, err := session.Read(k.w, k.order.SessionRef); err != nil {
		return
	}
	k.end()
	k.t.Logf("acknowledged: %d answers, %d texts", len(k.answered), len(k.said))
	var resolved, queued []payload
	output := ""
	for _, e := range parsed(k.log(k.order)) {
		switch p := e.read(); e.Type {
		case events.InteractionResolved:
			resolved = append(resolved, p)
		case events.SteerQueued:
			queued = append(queued, p)
		case events.ProviderRaw:
			output += p.Chunk
		}
	}
	for _, a := range k.answered {
		if len(k.answered) > 1 || !slices.ContainsFunc(resolved, func(p payload) bool { return p.InteractionID == a.InteractionID && p.State == a.State }) {
			k.t.Errorf("acknowledged: %+v, in the log: %+v", k.answered, resolved)
		}
	}
	for text, s := range k.said {
		found := slices.DeleteFunc(slices.Clone(queued), func(p payload) bool { return p.Text != text })
		if len(found) != 1 || found[0].SteerID != s.SteerID {
			k.t.Errorf("%s was acknowledged as %s, the log has %+v", text, s.SteerID, found)
		}
	}
	for _, p := range queued {
		times := 0
		for line := range strings.Lines(output) {
			if !strings.Contains(line, `"isReplay"`) {
				times += strings.Count(line, p.Text)
			}
		}
		if times > 1 {
			k.t.Errorf("the agent heard %s %d times", p.Text, times)
		}
	}
}

// goesOn checks that the run can be continued.
func (k *killed) goesOn() {
	k.t.Helper()
	run, err := runs.Load(k.w, k.project, k.order.RunID)
	if err != nil || !doc.Terminal(run.Status) || run.Spec == nil {
		return // it never began, and can still be launched
	}
	first := k.talk
	first.order.SessionRef = session.LocalRef(k.order.RunID)
	next, _, err := first.goOn("say three", func(s *runs.ContinueSpec) { s.Live.KeepOpen = new(false); s.Live.Interactive = new(true) })
	if err != nil {
		k.t.Fatalf("it does not go on: %v", err)
	}
	if record := next.end(); record.Status != doc.StatusEnded || next.lastMessage() != "three" {
		k.t.Errorf("%s %s: %q", record.Status, record.Error, next.lastMessage())
	}
	k.gone()
}
