package pipe

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// WriteNow writes as much of text to a pipe as it takes without blocking, in
// one system call. The error is ErrFull if it takes nothing now, and
// ErrUnsupported for files and kernels without non-blocking writes (before
// Linux 6.4).
func WriteNow(f *os.File, text []byte) (n int, err error) {
	for {
		n, err = unix.Pwritev2(int(f.Fd()), [][]byte{text}, -1, unix.RWF_NOWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return 0, ErrFull
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ESPIPE):
			return 0, ErrUnsupported
		}
		return max(0, n), os.NewSyscallError("pwritev2", err)
	}
}
