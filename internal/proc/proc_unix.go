//go:build unix

package proc

import (
	"errors"
	"os"
	"syscall"
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

// CloseOnExec keeps child processes from inheriting a descriptor.
func CloseOnExec(fd int) { syscall.CloseOnExec(fd) }
