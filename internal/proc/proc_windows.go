package proc

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// Lookup returns the identity of the process that has a PID now. Start is its creation time.
func Lookup(pid int) (Identity, bool) {
	started, ok := StartedAt(pid)
	if !ok {
		return Identity{}, false
	}
	return Identity{PID: pid, Start: strconv.FormatInt(started.UnixNano(), 10)}, true
}

// StartedAt returns when a process started.
func StartedAt(pid int) (time.Time, bool) {
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return time.Time{}, false
	}
	defer func() { _ = windows.CloseHandle(handle) }()
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(handle, &created, &exited, &kernel, &user); err != nil {
		return time.Time{}, false
	}
	return time.Unix(0, created.Nanoseconds()), true
}

// BecomeSubreaper is not supported on this system.
func BecomeSubreaper() error { return ErrUnsupported }

// Children is not needed on a system without sessions.
func Children(int) ([]int, error) { return nil, ErrUnsupported }

// NewSession returns no attributes, because this system has no counterpart.
func NewSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// NewGroup returns no attributes, because this system has no counterpart.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// SignalGroup is not supported on this system.
func SignalGroup(int, syscall.Signal) error { return ErrUnsupported }

// Kill is not supported on this system.
func Kill(int) error { return ErrUnsupported }

// CloseOnExec is not needed on a system without sessions.
func CloseOnExec(int) {}

// Exit describes how a process ended.
type Exit struct {
	Code   int
	Signal syscall.Signal
}

// Start is not supported on this system.
func Start(string, []string, []string, string, [3]*os.File) (int, error) { return 0, ErrUnsupported }

// StartInTerminal is not supported on this system.
func StartInTerminal(string, []string, []string, string, [3]*os.File) (int, error) {
	return 0, ErrUnsupported
}

// AwaitExit is not supported on this system.
func AwaitExit(int) (Exit, error) { return Exit{}, ErrUnsupported }

// Sweep is a no-op on this system.
func Sweep(int, time.Duration) []int { return nil }

// SweepAdopted is a no-op on this system.
func SweepAdopted(func(int) bool, time.Duration) []int { return nil }

// OwnedByUs returns true, because this system cannot tell.
func OwnedByUs(fs.FileInfo) bool { return true }

// KillGroup is not supported on this system.
func KillGroup(Identity, time.Duration) bool { return false }
