package proc

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// Lookup returns the identity of the process that has a number now. Start is
// its creation time.
func Lookup(pid int) (Identity, bool) {
	started, ok := StartedAt(pid)
	if !ok {
		return Identity{}, false
	}
	return Identity{PID: pid, Start: strconv.FormatInt(started.UnixNano(), 10)}, true
}

// StartedAt is when a process started.
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

// BecomeSubreaper is not supported here.
func BecomeSubreaper() error { return ErrUnsupported }

// Children is not needed where sessions are not supported.
func Children(int) ([]int, error) { return nil, ErrUnsupported }

// NewSession has no counterpart here and returns no attributes.
func NewSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// NewGroup has no counterpart here and returns no attributes.
func NewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// SignalGroup is not supported here.
func SignalGroup(int, syscall.Signal) error { return ErrUnsupported }

// Kill is not supported here.
func Kill(int) error { return ErrUnsupported }

// CloseOnExec is not needed where sessions are not supported.
func CloseOnExec(int) {}

// Exit is how a process ended.
type Exit struct {
	Code   int
	Signal syscall.Signal
}

// Start is not supported here.
func Start(string, []string, []string, string, [3]*os.File) (int, error) { return 0, ErrUnsupported }

// StartInTerminal is not supported here.
func StartInTerminal(string, []string, []string, string, [3]*os.File) (int, error) {
	return 0, ErrUnsupported
}

// AwaitExit is not supported here.
func AwaitExit(int) (Exit, error) { return Exit{}, ErrUnsupported }

// Sweep is a no-op here.
func Sweep(int, time.Duration) []int { return nil }

// SweepAdopted is a no-op here.
func SweepAdopted(func(int) bool, time.Duration) []int { return nil }

// OwnedByUs is not known here and always true.
func OwnedByUs(fs.FileInfo) bool { return true }

// KillGroup is not supported here.
func KillGroup(Identity, time.Duration) bool { return false }
