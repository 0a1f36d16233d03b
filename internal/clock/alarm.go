package clock

// Alarms: timers that count the time in which the machine is suspended, unlike the timers of
// Go.

import (
	"sync"
	"time"
)

// checkInterval bounds how late an alarm may be noticed after the machine was suspended.
const checkInterval = 15 * time.Second

// Alarm calls a function once, after a duration.
type Alarm struct {
	elapsed  func() time.Duration
	deadline time.Duration
	every    time.Duration
	do       func()

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// After returns an alarm that calls do, in its own goroutine, after d. Time in which the
// machine is suspended counts: an alarm that became due meanwhile rings within seconds after
// the machine wakes. Changes of the wall clock do not matter.
func After(d time.Duration, do func()) *Alarm { return newAlarm(stopwatch(), checkInterval, d, do) }

func newAlarm(elapsed func() time.Duration, every, d time.Duration, do func()) *Alarm {
	a := &Alarm{elapsed: elapsed, deadline: elapsed() + d, every: every, do: do}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(min(d, every), a.check)
	return a
}

// waking measures time from now on, excluding time in which the machine is suspended.
func waking() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// check rings if the alarm is due, and otherwise checks again later.
func (a *Alarm) check() {
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

// Stop cancels the alarm. It has no effect once the alarm has rung.
func (a *Alarm) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	a.timer.Stop()
}
