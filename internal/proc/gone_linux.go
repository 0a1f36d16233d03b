package proc

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// awaitGone waits until a process has ended, for patience at most.
func awaitGone(pid int, patience time.Duration) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		time.Sleep(sweepPause)
		return
	}
	defer func() { _ = unix.Close(fd) }()
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if _, err := unix.Poll(polled, int(patience.Milliseconds())+1); err != nil && !errors.Is(err, unix.EINTR) {
		time.Sleep(sweepPause)
	}
}

// onlyDead reports whether a group consists of zombies only.
func onlyDead(pgid int) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if group, err := unix.Getpgid(pid); err != nil || group != pgid {
			continue
		}
		if _, _, state, ok := readStat(pid); ok && !dead(state) {
			return false
		}
	}
	return true
}
