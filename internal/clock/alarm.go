package clock

// Alarms: timers that count the time in which the machine was suspended, which the
// timers of Go do not.

import (
	"sync"
	"time"
)

// lookEvery is how long after its time an alarm may be noticed when the machine was
// suspended.
const lookEvery = 15 * time.Second

// Alarm carries something out once, after a while.
type Alarm struct {
	elapsed  func() time.Duration
	deadline time.Duration
	every    time.Duration
	do       func()

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// After makes an alarm that carries do out, in a goroutine of its own, after d. Time in
// which the machine is suspended counts: an alarm that was due meanwhile rings within
// seconds after it wakes. Changes of the wall clock do not matter.
func After(d time.Duration, do func()) *Alarm { return after(stopwatch(), lookEvery, d, do) }

func after(elapsed func() time.Duration, every, d time.Duration, do func()) *Alarm {
	a := &Alarm{elapsed: elapsed, deadline: elapsed() + d, every: every, do: do}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(min(d, every), a.look)
	return a
}

// waking measures time from now on, without that in which the machine is suspended.
func waking() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// look rings, or looks again later.
func (a *Alarm) look() {
	a.mu.Lock()
	left := a.deadline - a.elapsed()
	if a.stopped || left > 0 {
		if !a.stopped {
			a.timer.Reset(min(left, a.every))
		}
		a.mu.Unlock()
		return
	}
	a.stopped = true
	a.mu.Unlock()
	a.do()
}

// Stop calls the alarm off. What rang already is not taken back.
func (a *Alarm) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	a.timer.Stop()
}
