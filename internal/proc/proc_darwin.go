package proc

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Lookup returns the identity of the process that has a PID now. Start is its start time in
// microseconds.
func Lookup(pid int) (Identity, bool) {
	started, ok := StartedAt(pid)
	if !ok {
		return Identity{}, false
	}
	return Identity{PID: pid, Start: strconv.FormatInt(started.UnixMicro(), 10)}, true
}

const zombie = 5 // SZOMB of <sys/proc.h>

// StartedAt returns when a process started.
func StartedAt(pid int) (time.Time, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || info.Proc.P_pid != int32(pid) || info.Proc.P_stat == zombie {
		return time.Time{}, false
	}
	at := info.Proc.P_starttime
	return time.Unix(at.Sec, int64(at.Usec)*1000), true
}

// BecomeSubreaper is a no-op: macOS has no subreaper. Descendants are identified by their group
// and start time.
func BecomeSubreaper() error { return nil }

// childrenOf lists the processes whose parent is pid, with or without zombies.
func childrenOf(pid int, zombies bool) ([]int, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, p := range all {
		if int(p.Eproc.Ppid) == pid && (zombies || p.Proc.P_stat != zombie) {
			children = append(children, int(p.Proc.P_pid))
		}
	}
	return children, nil
}
