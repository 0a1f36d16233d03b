package session

// The session mark: a variable in the environment of the provider, inherited by everything that
// the provider starts. If supervisor and guard die together, only the mark identifies the
// orphaned processes.

import (
	"slices"
	"strings"
	"time"

	"ac/internal/guard"
	"ac/internal/proc"
	"ac/workspace/doc"
)

// How long a process may take to exit after it released its locks, and how often to check.
const (
	dyingPatience = 500 * time.Millisecond
	dyingPause    = 5 * time.Millisecond
)

// markName is the variable's name. A session nested in a session has its own mark.
const markName = "AC_SESSION_MARK"

// markOf returns the environment entry of a session of ours. It derives from fields of the record
// that no other session shares.
func markOf(record doc.Session) string {
	return markName + "=" + digest(record.Ref+"\x00"+record.Socket)
}

// cleanUpAfterSupervisor kills everything that the provider of a dead supervisor left, whatever
// happened to the guard. A dying supervisor releases its locks shortly before it exits. One that
// stays alive belongs to another copy of this workspace and keeps its processes.
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

// WithMark returns the environment with a session's mark added.
func WithMark(environ []string, record doc.Session) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, markName+"=") })
	return append(environ, markOf(record))
}
