package session

// The mark of a session: an entry in the environment of its provider, and so of
// everything that one starts. When supervisor and guard die at one moment it is
// all that tells whose the survivors are.

import (
	"slices"
	"strings"
	"time"

	"ac/internal/guard"
	"ac/internal/proc"
	"ac/workspace/doc"
)

// How long a process that let go of its locks may take to be gone, and how often
// it is looked at.
const (
	dyingPatience = 500 * time.Millisecond
	dyingPause    = 5 * time.Millisecond
)

// markName is the variable. A session within a session has a mark of its own.
const markName = "AC_SESSION_MARK"

// markOf is the entry of a session of ours. It is made of what its record holds
// and no other session ever has.
func markOf(record doc.Session) string {
	return markName + "=" + digest(record.Ref+"\x00"+record.Socket)
}

// cleanUpAfterSupervisor cleans up behind the dead supervisor of a session of ours: nothing of
// its provider lives on, whatever became of the guard. A supervisor that stays
// alive is the one of another copy of this workspace, and keeps what it has; one
// that dies lets go of its locks a moment before it is gone.
func cleanUpAfterSupervisor(record doc.Session) (left []int) {
	if record.OwnerPID != nil {
		owner := proc.Identity{PID: *record.OwnerPID, Start: record.OwnerStart}
		for waited := time.Duration(0); owner.Alive(); waited += dyingPause {
			if waited >= dyingPatience {
				return nil
			}
			time.Sleep(dyingPause)
		}
	}
	RemoveSocket(record)
	return proc.KillMarked(markOf(record), guard.Patience)
}

// Marked puts the mark of a session into an environment.
func Marked(environ []string, record doc.Session) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, markName+"=") })
	return append(environ, markOf(record))
}
