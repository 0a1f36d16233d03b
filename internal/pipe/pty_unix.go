//go:build unix

package pipe

// Pseudo-terminals whose reads and writes have deadlines.

import (
	"errors"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// OpenPTY opens a pseudo-terminal of the given size and returns our side and the shell's. The
// library leaves our side blocking, so that deadlines would not work. OpenPTY therefore returns
// a non-blocking duplicate.
func OpenPTY(cols, rows int) (ours, theirs *os.File, err error) {
	blocking, theirs, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = blocking.Close() }()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		if err = unix.SetNonblock(fd, true); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(os.NewSyscallError("fcntl", err), theirs.Close())
	}
	ours = os.NewFile(uintptr(fd), blocking.Name()) //nolint:gosec // a descriptor
	if err := ResizePTY(ours, cols, rows); err != nil {
		return nil, nil, errors.Join(err, ours.Close(), theirs.Close())
	}
	return ours, theirs, nil
}

// ResizePTY sets the size of a terminal. It does not change the blocking mode of the
// descriptor.
func ResizePTY(f *os.File, cols, rows int) error {
	control, err := f.SyscallConn()
	if err != nil {
		return err
	}
	size := &unix.Winsize{Col: uint16(cols), Row: uint16(rows)} //nolint:gosec // 1,000 at most
	var failed error
	if err := control.Control(func(fd uintptr) { failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size) }); err != nil { //nolint:gosec // a descriptor
		return err
	}
	return os.NewSyscallError("ioctl", failed)
}
