package lock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"ac/internal/durable"
)

func flock(file durable.File, shared, try bool) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var how uint32
	if !shared {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	if try {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	var failed error
	if err := conn.Control(func(fd uintptr) {
		failed = windows.LockFileEx(windows.Handle(fd), how, 0, 1, 0, lockedByte())
	}); err != nil {
		return err
	}
	if errors.Is(failed, windows.ERROR_LOCK_VIOLATION) {
		return ErrBusy
	}
	return os.NewSyscallError("LockFileEx", failed)
}

// lockedByte lies far beyond any content, so that the file stays readable.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

func funlock(file durable.File) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) {
		failed = windows.UnlockFileEx(windows.Handle(fd), 0, 1, 0, lockedByte())
	}); err != nil {
		return err
	}
	return os.NewSyscallError("UnlockFileEx", failed)
}
