//go:build unix

package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// NewSession are the attributes of a process that leads a session of its own,
// detached from terminals and from signals to our group.
func NewSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// NewGroup are the attributes of a process that leads a process group.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// SignalGroup signals a process group. The caller must still have a child in
// it, so that its number cannot have been reused. A group that is gone is not
// an error.
func SignalGroup(pgid int, sig syscall.Signal) error {
	if pgid <= 1 {
		return syscall.EINVAL
	}
	if err := syscall.Kill(-pgid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return os.NewSyscallError("kill", err)
	}
	return nil
}

// Kill kills a child that has not been reaped.
func Kill(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return os.NewSyscallError("kill", err)
	}
	return nil
}

// SocketPair makes two connected sockets with close-on-exec.
func SocketPair() (a, b *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	for _, fd := range fds {
		unix.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "socketpair"), os.NewFile(uintptr(fds[1]), "socketpair"), nil
}

// CloseOnExec keeps child processes from inheriting a descriptor.
func CloseOnExec(fd int) { syscall.CloseOnExec(fd) }

// HungUp reports whether the writer of a pipe or socket has closed it, even
// while some of its bytes are unread.
func HungUp(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: hangupEvents}}
	_, err := unix.Poll(fds, 0)
	return err == nil && fds[0].Revents&(hangupEvents|unix.POLLHUP|unix.POLLERR) != 0
}

// Writable reports whether a small write to a pipe or socket would not block.
func Writable(f *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&unix.POLLOUT != 0
}

// SignalName is the POSIX name of a signal: SIGTERM.
func SignalName(sig syscall.Signal) string { return unix.SignalName(sig) }
