//go:build unix

package proc

import (
	"errors"
	"os"
	"syscall"
)

// NewSession returns the attributes of a process that leads its own session, detached from
// terminals and from signals to our group.
func NewSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// NewGroup returns the attributes of a process that leads a process group.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// SignalGroup signals a process group. The caller must still have a child in it, so that its
// number cannot have been reused. It is not an error if the group is gone.
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

// CloseOnExec keeps child processes from inheriting a descriptor.
func CloseOnExec(fd int) { syscall.CloseOnExec(fd) }
