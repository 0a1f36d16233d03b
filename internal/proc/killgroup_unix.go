//go:build unix

package proc

import (
	"errors"
	"syscall"
	"time"
)

// KillGroup kills one process, identified beyond its number, and the group it
// leads, and waits until none is left. It reports whether it saw that; it gives
// up after patience. A group whose leader is gone is killed as long as no other
// process has the number: the system does not reuse a number while a group has
// it as its id.
func KillGroup(leader Identity, patience time.Duration) (gone bool) {
	if leader.PID <= 1 || leader.Start == "" {
		return false
	}
	for deadline := time.Now().Add(patience); ; {
		if now, there := Lookup(leader.PID); there && now.Start != leader.Start {
			return true // another process has the number, so the group is gone
		}
		err := syscall.Kill(-leader.PID, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return !leader.Alive()
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		if leader.Alive() {
			awaitGone(leader.PID, left)
		} else {
			time.Sleep(sweepPause) // other members of the group, or an unreaped leader
			if onlyDead(leader.PID) {
				return true
			}
		}
	}
}
