package supervisor

// What a session may spend while those who count for all runs cannot be reached: verb
// limits, and what it means for the watch of the budget.

import (
	"sync"
	"time"

	"ac/internal/fault"
	"ac/runs/budget"
	"ac/runs/session"
)

// allowance is the newest one of a session. It is safe for concurrent use. Its methods
// never call the watch with the lock held, since the watch asks it with its own held.
type allowance struct {
	mu      sync.Mutex
	may     *budget.Allowance
	before  budget.Spend // what counts as spent before it
	spent   budget.Spend // by this session, as it reported last
	holds   bool
	timer   *time.Timer // until it holds
	changed func()      // of the watch; nil while there is none
	closed  bool
}

// set replaces the allowance.
func (a *allowance) set(p session.LimitsRequest) (session.LimitsResult, error) {
	if p.HoldsAfterMS < 0 {
		return session.LimitsResult{}, fault.InvalidField("holds_after_ms", "must not be negative")
	}
	a.mu.Lock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	a.may, a.before = p.Allowance, a.spent
	if p.Allowance != nil && p.Allowance.Counted != nil {
		a.before = p.Allowance.Counted.Spend()
	}
	a.holds = p.Allowance != nil && p.HoldsAfterMS == 0
	if p.Allowance != nil && !a.holds && !a.closed {
		var timer *time.Timer
		timer = time.AfterFunc(time.Duration(p.HoldsAfterMS)*time.Millisecond, func() { a.hold(&timer) })
		a.timer = timer
	}
	result := session.LimitsResult{Holds: a.holds}
	a.mu.Unlock()
	a.tell()
	return result, nil
}

// hold makes the allowance hold, unless another one replaced it just now. The timer is
// read under the lock that set has while it makes one.
func (a *allowance) hold(timer **time.Timer) {
	a.mu.Lock()
	mine := a.timer == *timer && !a.closed
	if mine {
		a.holds, a.timer = true, nil
	}
	a.mu.Unlock()
	if mine {
		a.tell()
	}
}

func (a *allowance) tell() {
	a.mu.Lock()
	changed := a.changed
	a.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// watch has a function called whenever another allowance holds.
func (a *allowance) watch(changed func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed = changed
}

// count takes what the session has spent so far.
func (a *allowance) count(spent budget.Spend) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent = spent
}

// exceeded reports whether the session has spent what it may.
func (a *allowance) exceeded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.holds && a.may.Exceeded(a.before, a.spent)
}

// close ends it: nothing is told afterwards.
func (a *allowance) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed, a.changed = true, nil
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}
