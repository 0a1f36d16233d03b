package proc

// How late the timers of a process may be. A program of Go that is at work wakes up every 20
// microseconds to look after itself, and waits for a disk at work: for a process that works for
// a millisecond a second that is a fifth of all it costs.

import (
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// looseSlack is how late the timers are of what StartLoose starts.
	looseSlack = time.Millisecond
	// systemSlack is how late those of every other process are, unless somebody said otherwise.
	systemSlack = 50 * time.Microsecond
)

// StartLoose starts a command for which it does not matter when its timers, and those of what it
// starts in turn, are a millisecond late. See prctl(2), PR_SET_TIMERSLACK.
func StartLoose(cmd *exec.Cmd) error { return startWithSlack(cmd, looseSlack) }

// StartPunctual starts a command whose timers are as late as is usual, though those of this
// process are those of StartLoose.
func StartPunctual(cmd *exec.Cmd) error {
	if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || slack != int(looseSlack) {
		return cmd.Start() // as somebody wanted it
	}
	return startWithSlack(cmd, systemSlack)
}

// startWithSlack has the thread that forks have the slack meanwhile: children inherit that.
func startWithSlack(cmd *exec.Cmd, slack time.Duration) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
	}
	if err == nil {
		defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(before), 0, 0, 0) }() // it was accepted before
	}
	return cmd.Start() // in any case: it only costs more
}
