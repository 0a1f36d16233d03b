package proc

// Timer slack: how late the timers of a process may be. A Go program that works, or waits for a
// disk, wakes up every 20 microseconds for housekeeping. For a process that works for a
// millisecond per second that is a fifth of its total cost.

import (
	"runtime"
	"syscall"
	"time"
)

const (
	// looseSlack is the timer slack of processes that StartLoose starts.
	looseSlack = time.Millisecond
	// systemSlack is the timer slack of every other process, unless somebody set another one.
	systemSlack = 50 * time.Microsecond
)

// StartLoose calls start to start a process whose timers may be a millisecond late, and those
// of its descendants too. See prctl(2), PR_SET_TIMERSLACK.
func StartLoose(start func() error) error { return startWithSlack(start, looseSlack) }

// StartPunctual calls start to start a process with the usual timer slack, even if this process
// has that of StartLoose.
func StartPunctual(start func() error) error {
	if slack, err := timerSlack(); err != nil || slack != looseSlack {
		return start() // keep the slack that somebody set
	}
	return startWithSlack(start, systemSlack)
}

// startWithSlack changes the slack of the thread that forks while it calls start, because
// children inherit it.
func startWithSlack(start func() error, slack time.Duration) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := timerSlack()
	if err == nil {
		err = setSlack(slack)
	}
	if err == nil {
		defer func() { _ = setSlack(before) }() // cannot fail: it was accepted before
	}
	return start() // even if the slack could not be set: that only costs more
}

// timerSlack returns how late the timers of this thread may be.
func timerSlack() (time.Duration, error) {
	slack, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, getTimerSlack, 0, 0, 0, 0, 0)
	return time.Duration(slack), failed("prctl", errno)
}

func setSlack(d time.Duration) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setTimerSlack, uintptr(d), 0, 0, 0, 0)
	return failed("prctl", errno)
}
