package clock

import "golang.org/x/sys/unix"

// sleepless is the clock that goes on while the machine is suspended.
const sleepless = unix.CLOCK_BOOTTIME
