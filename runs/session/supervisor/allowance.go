package supervisor

// The allowance: what a session may spend while the hub that counts for all runs is unreachable.
// The order or the limits verb sets it, and the budget watch enforces it.

import (
	"sync"
	"time"

	"ac/internal/fault"
	"ac/runs/budget"
	"ac/runs/session"
)

// allowance is a session's current allowance. It is safe for concurrent use. Its methods never
// call the watch with their lock held, since the watch calls them with its own lock held.
type allowance struct {
	mu      sync.Mutex
	current *budget.Allowance
	before  budget.Spend // baseline: what was already spent when the allowance was set
	spent   budget.Spend // by this session, as last reported
	inForce bool
	timer   *time.Timer // runs until the allowance holds
	changed func()      // the watch's callback; nil without a watch
	closed  bool
}

// set replaces the allowance.
func (a *allowance) set(p session.LimitsRequest) (session.LimitsResult, error) {
	if p.InForceAfterMS < 0 {
		return session.LimitsResult{}, fault.InvalidField("holds_after_ms", "must not be negative")
	}
	a.mu.Lock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	a.current, a.before = p.Allowance, a.spent
	if p.Allowance != nil && p.Allowance.Counted != nil {
		a.before = p.Allowance.Counted.Spend()
	}
	a.inForce = p.Allowance != nil && p.InForceAfterMS == 0
	if p.Allowance != nil && !a.inForce && !a.closed {
		var timer *time.Timer
		timer = time.AfterFunc(time.Duration(p.InForceAfterMS)*time.Millisecond, func() { a.activate(&timer) })
		a.timer = timer
	}
	result := session.LimitsResult{InForce: a.inForce}
	a.mu.Unlock()
	a.notifyWatch()
	return result, nil
}

// activate puts the allowance into force, unless another one has just replaced it. It reads the timer
// under the lock that set holds while creating it.
func (a *allowance) activate(timer **time.Timer) {
	a.mu.Lock()
	mine := a.timer == *timer && !a.closed
	if mine {
		a.inForce, a.timer = true, nil
	}
	a.mu.Unlock()
	if mine {
		a.notifyWatch()
	}
}

func (a *allowance) notifyWatch() {
	a.mu.Lock()
	changed := a.changed
	a.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// watch registers a function that is called whenever the allowance in force changes.
func (a *allowance) watch(changed func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed = changed
}

// count records what the session has spent so far.
func (a *allowance) count(spent budget.Spend) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent = spent
}

// exceeded reports whether an allowance is in force and the session has spent it.
func (a *allowance) exceeded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inForce && a.current.Exceeded(a.before, a.spent)
}

// close stops the timer and ends the callbacks.
func (a *allowance) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed, a.changed = true, nil
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}
