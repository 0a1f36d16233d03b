package proc

import (
	"os"
	"strconv"
	"syscall"
)

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
		if group, err := syscall.Getpgid(pid); err != nil || group != pgid {
			continue
		}
		if _, _, state, ok := readStat(pid); ok && !dead(state) {
			return false
		}
	}
	return true
}
