//go:build unix

package lock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"ac/internal/durable"
)

// flock takes a kernel lock on the open file description. With try it returns
// ErrBusy instead of waiting.
func flock(file durable.File, shared, try bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	if try {
		how |= unix.LOCK_NB
	}
	return call(file, how)
}

func funlock(file durable.File) error { return call(file, unix.LOCK_UN) }

// call retries flock(2) when a signal interrupts it.
func call(file durable.File, how int) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) {
		for {
			if failed = unix.Flock(int(fd), how); !errors.Is(failed, unix.EINTR) {
				return
			}
		}
	}); err != nil {
		return err
	}
	if errors.Is(failed, unix.EWOULDBLOCK) {
		return ErrBusy
	}
	return os.NewSyscallError("flock", failed)
}
