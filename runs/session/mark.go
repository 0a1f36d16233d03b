package session

// The mark of a session: an entry in the environment of its provider, and so of
// everything that one starts. When supervisor and guard die at one moment it is
// all that tells whose the survivors are.

import (
	"slices"
	"strings"

	"ac/internal/proc"
	"ac/workspace/doc"
)

// markName is the variable. A session within a session has a mark of its own.
const markName = "AC_SESSION_MARK"

// markOf is the entry of a session of ours. It is made of what its record holds
// and no other session ever has.
func markOf(record doc.Session) string {
	return markName + "=" + digest(record.Ref+"\x00"+record.Socket)
}

// marked puts the mark of a session into an environment.
func marked(environ []string, record doc.Session) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool { return strings.HasPrefix(entry, markName+"=") })
	return append(environ, markOf(record))
}

// bereaved cleans up behind the dead supervisor of a session of ours: nothing of
// its provider lives on, whatever became of the guard. A supervisor that is
// alive is the one of another copy of this workspace, and keeps what it has.
func bereaved(record doc.Session) (left []int) {
	if record.OwnerPID != nil && (proc.Identity{PID: *record.OwnerPID, Start: record.OwnerStart}).Alive() {
		return nil
	}
	removeSocket(record)
	return proc.KillMarked(markOf(record), sweepPatience)
}
