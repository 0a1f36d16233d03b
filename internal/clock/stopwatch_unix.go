//go:build linux || darwin

package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

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
