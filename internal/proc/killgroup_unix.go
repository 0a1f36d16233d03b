//go:build unix

package proc

import (
	"errors"
	"syscall"
	"time"
)

// KillGroup kills the very process, which leads a group, and all of its group, and
// waits until none is left. It reports whether it saw that; it gives up after
// patience. A group whose leader is gone is killed as long as nobody else has the
// number: the system gives no number away that is the name of a group.
func KillGroup(leader Identity, patience time.Duration) (gone bool) {
	if leader.PID <= 1 || leader.Start == "" {
		return false
	}
	for deadline := time.Now().Add(patience); ; {
		if now, there := Lookup(leader.PID); there && now.Start != leader.Start {
			return true // another process has the number, so that the group is gone
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
			time.Sleep(sweepPause) // others of the group, or a leader that nobody has reaped
			if onlyDead(leader.PID) {
				return true
			}
		}
	}
}
