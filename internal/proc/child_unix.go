//go:build unix

package proc

// Children that we start and reap ourselves, for processes whose only job is to
// supervise others.

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"
)

// Exit describes how a process ended.
type Exit struct {
	Code   int
	Signal syscall.Signal // 0 when it exited by itself
}

// Start starts a program as leader of its own process group, with files as
// stdin, stdout and stderr. AwaitExit and Sweep reap it. On Linux the kernel
// kills it when the thread that started it ends, so that thread is locked and
// lives on.
func Start(path string, argv, env []string, dir string, files [3]*os.File) (pid int, err error) {
	fds := make([]uintptr, len(files))
	for i, f := range files {
		fds[i] = f.Fd()
	}
	pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: fds, Sys: childAttr()})
	if err != nil {
		return 0, &os.PathError{Op: "exec", Path: path, Err: err}
	}
	return pid, nil
}

// StartInTerminal is Start for a program that leads a session of its own, whose
// controlling terminal is its stdin.
func StartInTerminal(path string, argv, env []string, dir string, files [3]*os.File) (pid int, err error) {
	sys := childAttr()
	sys.Setpgid, sys.Setsid, sys.Setctty, sys.Ctty = false, true, true, 0
	fds := []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()}
	pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: fds, Sys: sys})
	if err != nil {
		return 0, &os.PathError{Op: "exec", Path: path, Err: err}
	}
	return pid, nil
}

// sweepPause is the time that Sweep gives killed processes to die before it checks again.
const sweepPause = time.Millisecond

// Sweep kills the process group pgid, unless that is 0, then every descendant of this process,
// and reaps them all. AwaitExit must have left the leader of the group unreaped. Sweep relies
// on wait(2) to know that none is left: a process list can miss a process whose parent dies
// meanwhile. It gives up after patience and returns the processes that are left. The process
// must have no other children that it waits for.
func Sweep(pgid int, patience time.Duration) (left []int) {
	if pgid > 0 {
		_ = SignalGroup(pgid, syscall.SIGKILL) // a process that it misses is found below
	}
	self := os.Getpid()
	for deadline := time.Now().Add(patience); !reapAll(); time.Sleep(sweepPause) {
		children, err := Children(self)
		for _, child := range children {
			_ = Kill(child) // gone meanwhile, or in the next list
		}
		if time.Now().After(deadline) || err != nil {
			return children
		}
	}
	return nil
}

// SweepAdopted kills and reaps orphaned processes that this subreaper adopted: its children in
// other sessions than its own, except those for which known returns true. It leaves its other
// children alone, so that their owners can wait for them. It gives up after patience and
// returns the processes that are left.
func SweepAdopted(known func(pid int) bool, patience time.Duration) (left []int) {
	for deadline := time.Now().Add(patience); ; time.Sleep(sweepPause) {
		adopted, err := adoptedChildren(known)
		// The process list can miss a process whose parent dies meanwhile. That parent, dead or
		// dying, is then in the list.
		if len(adopted) == 0 || err != nil {
			return nil
		}
		for _, pid := range adopted {
			_ = Kill(pid) // gone meanwhile, or in the next list
			reap(pid)
		}
		if time.Now().After(deadline) {
			return adopted
		}
	}
}

// adoptedChildren lists the children of this process, zombies included, that are in
// other sessions and not known.
func adoptedChildren(known func(pid int) bool) ([]int, error) {
	own, err := sessionOf(0)
	if err != nil {
		return nil, err
	}
	children, err := childrenOf(os.Getpid(), true)
	return slices.DeleteFunc(children, func(pid int) bool {
		sid, err := sessionOf(pid)
		return err != nil || sid == own || known(pid)
	}), err
}

func reap(pid int) {
	var status syscall.WaitStatus
	_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil) // still dying, or not ours
}

// Children lists the processes whose parent is pid, without zombies.
func Children(pid int) ([]int, error) { return childrenOf(pid, false) }

// reapAll reaps every child that has ended and reports whether none is left.
func reapAll() bool {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if errors.Is(err, syscall.ECHILD) {
			return true
		}
		if err != nil || pid == 0 {
			return false
		}
	}
}

// OwnedByUs reports whether a file belongs to the user of this process.
func OwnedByUs(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Getuid()
}
