package pipe

import "golang.org/x/sys/unix"

const hangupEvents = unix.POLLRDHUP
