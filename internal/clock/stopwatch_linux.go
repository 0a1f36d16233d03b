package clock

import "golang.org/x/sys/unix"

// sleepless is the clock that keeps running while the machine is suspended.
const sleepless = unix.CLOCK_BOOTTIME
