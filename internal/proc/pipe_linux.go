package proc

import (
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// maxPipe is the largest pipe that a user may have by default (pipe(7)).
const maxPipe = 1 << 20

// GrowPipe makes room in a pipe for n bytes that nobody has read, as far as the
// system allows; a pipe that cannot grow stays as it is.
func GrowPipe(f *os.File, n int) {
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
