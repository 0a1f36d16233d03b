package clock

import "golang.org/x/sys/unix"

// bootClock is the clock that keeps running while the machine is suspended.
const bootClock = unix.CLOCK_BOOTTIME
