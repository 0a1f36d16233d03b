//go:build unix

package proc

import (
	"errors"
	"syscall"
	"time"
)

// KillGroup kills one process, identified beyond its PID, and the group that it leads. It waits
// until none is left, for patience at most, and reports whether it saw that. It also kills a
// group whose leader is gone, as long as no other process has the leader's PID: the system does
// not reuse a PID while a group has it as its ID.
func KillGroup(leader Identity, patience time.Duration) (gone bool) {
	if leader.PID <= 1 || leader.Start == "" {
		return false
	}
	for deadline := time.Now().Add(patience); ; {
		if now, there := Lookup(leader.PID); there && now.Start != leader.Start {
			return true // another process has the PID, so the group is gone
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
