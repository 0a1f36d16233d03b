//go:build linux || darwin

package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot returns the time since the machine was started, suspended time included. Changes of
// the wall clock do not affect it. It returns 0 if the system refuses the clock.
func SinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(bootClock, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// stopwatch measures time from now on, suspended time included.
func stopwatch() func() time.Duration {
	var start unix.Timespec
	if err := unix.ClockGettime(bootClock, &start); err != nil {
		return waking() // the system refuses the clock
	}
	return func() time.Duration {
		var now unix.Timespec
		_ = unix.ClockGettime(bootClock, &now) // cannot fail: the first reading succeeded
		return time.Duration(now.Nano() - start.Nano())
	}
}
