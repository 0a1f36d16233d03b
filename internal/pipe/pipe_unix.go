//go:build unix

package pipe

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// SocketPair returns two connected sockets with close-on-exec.
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

// HungUp reports whether the writer of a pipe or socket has closed it, even while some bytes
// are still unread.
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
