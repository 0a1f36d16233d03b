package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const nonblock = unix.O_NONBLOCK

func syncData(f *os.File) error {
	return os.NewSyscallError("sync", control(f, unix.Fdatasync))
}

// DropPageCache drops the page cache of a file from an offset on. After a failed sync the cache may
// hold data that never reached the disk. This is best effort: where the system ignores it,
// reads still return the cached data.
func DropPageCache(f File, from int64) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Fadvise(int(fd), from, 0, unix.FADV_DONTNEED) })
	}
}

func syncDir(d *os.File) error {
	return ignoreSyncUnsupported(os.NewSyscallError("sync", control(d, unix.Fsync)))
}

// ignoreSyncUnsupported ignores the errors of file systems that cannot sync a directory.
func ignoreSyncUnsupported(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// control makes a system call on the descriptor of a file, again if a signal interrupts it.
func control(f *os.File, call func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) {
		for {
			if failed = call(int(fd)); !errors.Is(failed, unix.EINTR) {
				return
			}
		}
	}); err != nil {
		return err
	}
	return failed
}
