package pipe

import (
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// maxPipe is the largest pipe an unprivileged user may have by default
// (pipe(7)).
const maxPipe = 1 << 20

// Grow grows a pipe to hold n unread bytes, as far as the system allows. It
// is best effort.
func Grow(f *os.File, n int) {
	size := maxPipe
	if n < maxPipe {
		size = 1 << bits.Len(uint(n))
	}
	control, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = control.Control(func(fd uintptr) {
		if have, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err == nil && have < size {
			_, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size)
		}
	})
}
