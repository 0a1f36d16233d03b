package proc

import (
	"time"

	"golang.org/x/sys/unix"
)

// awaitGone waits by kqueue(2) until a process has ended, for patience at most.
func awaitGone(pid int, patience time.Duration) {
	queue, err := unix.Kqueue()
	if err != nil {
		time.Sleep(sweepPause)
		return
	}
	defer func() { _ = unix.Close(queue) }()
	var wanted unix.Kevent_t
	unix.SetKevent(&wanted, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	wanted.Fflags = unix.NOTE_EXIT
	limit := unix.NsecToTimespec(int64(patience))
	if n, err := unix.Kevent(queue, []unix.Kevent_t{wanted}, make([]unix.Kevent_t, 1), &limit); err != nil || n == 0 {
		time.Sleep(sweepPause) // gone already, or interrupted by a signal
	}
}

// onlyDead reports whether a group consists of zombies only.
func onlyDead(pgid int) bool {
	group, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", pgid)
	if err != nil {
		return false
	}
	for _, p := range group {
		if p.Proc.P_stat != zombie {
			return false
		}
	}
	return true
}
