package proc

// How late the timers of a process may be. A program of Go that is at work wakes up every 20
// microseconds to look after itself, and waits for a disk at work: for a process that works for
// a millisecond a second that is a fifth of all it costs.

import (
	"runtime"
	"syscall"
	"time"
)

const (
	// looseSlack is how late the timers are of what StartLoose starts.
	looseSlack = time.Millisecond
	// systemSlack is how late those of every other process are, unless somebody said otherwise.
	systemSlack = 50 * time.Microsecond
)

// StartLoose calls start for a process for which it does not matter when its timers, and those of
// what it starts in turn, are a millisecond late. See prctl(2), PR_SET_TIMERSLACK.
func StartLoose(start func() error) error { return startWithSlack(start, looseSlack) }

// StartPunctual calls start for a process whose timers are as late as is usual, though those of
// this process are those of StartLoose.
func StartPunctual(start func() error) error {
	if slack, err := timerSlack(); err != nil || slack != looseSlack {
		return start() // as somebody wanted it
	}
	return startWithSlack(start, systemSlack)
}

// startWithSlack has the thread that forks have the slack meanwhile: children inherit that.
func startWithSlack(start func() error, slack time.Duration) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := timerSlack()
	if err == nil {
		err = setSlack(slack)
	}
	if err == nil {
		defer func() { _ = setSlack(before) }() // it was accepted before
	}
	return start() // in any case: it only costs more
}

// timerSlack is how late the timers of this thread may be.
func timerSlack() (time.Duration, error) {
	slack, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, getTimerSlack, 0, 0, 0, 0, 0)
	return time.Duration(slack), failed("prctl", errno)
}

func setSlack(d time.Duration) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setTimerSlack, uintptr(d), 0, 0, 0, 0)
	return failed("prctl", errno)
}
