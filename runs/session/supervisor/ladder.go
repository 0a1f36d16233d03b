package supervisor

// The stop ladder: ask, wait, SIGTERM, wait, SIGKILL. Each step is taken only if the one before
// it did not end the provider.

import (
	"os"
	"syscall"
	"time"

	"ac/internal/guard"
	"ac/runs/session"
	"ac/runs/session/live"
)

const (
	// termAfter is the grace period between the protocol's own stop message and SIGTERM.
	termAfter = 100 * time.Millisecond
)

// ladderTimers are the timers of a running stop ladder.
type ladderTimers struct {
	term, kill <-chan time.Time
	timers     []*time.Timer
}

func (r *ladderTimers) after(d time.Duration) <-chan time.Time {
	timer := time.NewTimer(d)
	r.timers = append(r.timers, timer)
	return timer.C
}

func (r *ladderTimers) close() {
	for _, timer := range r.timers {
		timer.Stop()
	}
}

// awaitExit waits for the provider to exit. It ends the provider if a stop is requested, the
// session exceeds its time limit, or the turn is over. guardDied reports that the guard exited
// first.
func (s *supervisor) awaitExit(talk *live.Conversation, stdin *os.File) (exit *guard.Exit, guardDied bool) {
	stop, interrupt := s.stop, s.host.Interrupt
	var over, halt <-chan struct{}
	if s.order.PerTurn() {
		halt = s.talk.TurnEnds()
	}
	if talk != nil {
		over = talk.ProcessEnds()
	}
	var r ladderTimers
	defer r.close()
	if s.order.LimitMS > 0 && s.timeUp == nil {
		s.timeUp = time.After(s.order.Limit())
	}
	for {
		select {
		case report, ok := <-s.guard.Reports:
			switch {
			case !ok:
				return nil, true
			case report.Exit != nil:
				return report.Exit, false
			}
		case <-interrupt:
			interrupt = nil
			s.requestStop(true)
		case <-s.timeUp:
			s.overdue = true
			s.requestStop(false)
		case <-stop:
			stop = nil
			if talk == nil {
				r.term = r.after(0)
				break
			}
			talk.Stop()
			r.term = r.after(termAfter)
		case <-halt:
			r.term = r.after(0)
		case <-over:
			over = nil
			_ = stdin.Close() // the provider may be gone
			if r.term == nil && r.kill == nil {
				r.term = r.after(live.CloseGrace)
			}
		case <-r.term:
			r.term = nil
			s.guard.Signal(syscall.SIGTERM)
			r.kill = r.after(session.KillAfter)
		case <-r.kill:
			r.kill = nil
			s.guard.Signal(syscall.SIGKILL)
		}
	}
}
