//go:build !windows

package pipe

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listen listens on a Unix socket that is removed when the listener closes. Package net does
// the same, but first reads a setting of the system into 64 KB of memory, which each supervisor
// would keep.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := listening(path)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "unix", Addr: &net.UnixAddr{Name: path, Net: "unix"}, Err: err}
	}
	l, err := net.FileListener(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(true)
	}
	return l, nil
}

func listening(path string) (*os.File, error) {
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, errors.Join(os.NewSyscallError("bind", err), unix.Close(fd))
	}
	if err = unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return nil, errors.Join(os.NewSyscallError("listen", err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}
