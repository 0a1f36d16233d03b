//go:build linux || darwin

package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot is the time since the machine was started, suspended time included. No change
// of the wall clock moves it. It is 0 where the system refuses the clock.
func SinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(sleepless, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// stopwatch measures time from now on, suspended time included.
func stopwatch() func() time.Duration {
	var start unix.Timespec
	if err := unix.ClockGettime(sleepless, &start); err != nil {
		return waking() // the system refuses the clock
	}
	return func() time.Duration {
		var now unix.Timespec
		_ = unix.ClockGettime(sleepless, &now) // it answered before
		return time.Duration(now.Nano() - start.Nano())
	}
}
