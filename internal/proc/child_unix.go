//go:build unix

package proc

// Children that we start and reap ourselves, for processes whose whole purpose
// is to look after others.

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Exit is how a process ended.
type Exit struct {
	Code   int
	Signal syscall.Signal // 0 when it exited by itself
}

// Start starts a program as leader of its own process group, with these three
// files as its standard ones. It is reaped by AwaitExit and Sweep. On Linux it
// is killed when the calling thread ends, which therefore is locked and lives on.
func Start(path string, argv, env []string, dir string, files [3]*os.File) (pid int, err error) {
	fds := make([]uintptr, len(files))
	for i, f := range files {
		fds[i] = f.Fd()
	}
	pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: fds, Sys: attended()})
	if err != nil {
		return 0, &os.PathError{Op: "exec", Path: path, Err: err}
	}
	return pid, nil
}

// sweepPause is how long Sweep lets killed processes die before it looks again.
const sweepPause = time.Millisecond

// Sweep kills a process group whose leader AwaitExit left unreaped, if one is
// given, and then every descendant of this process, and reaps them all. That
// none is left is the kernel's word: a look at the list of processes can miss
// one whose parent dies meanwhile. It gives up after patience and tells who is
// left. The process has no other children then that somebody waits for.
func Sweep(pgid int, patience time.Duration) (left []int) {
	if pgid > 0 {
		_ = SignalGroup(pgid, syscall.SIGKILL) // what it misses is found below
	}
	self := os.Getpid()
	for deadline := time.Now().Add(patience); !reapAll(); time.Sleep(sweepPause) {
		children, err := Children(self)
		for _, child := range children {
			_ = Kill(child) // gone meanwhile, or found again
		}
		if time.Now().After(deadline) || err != nil {
			return children
		}
	}
	return nil
}

// SweepAdopted kills and reaps the processes that came to this one because
// their parent died: its children in other sessions than its own, but for those
// that known tells apart. The rest of its children are left alone, so that
// others may wait for them. It gives up after patience and tells who is left.
func SweepAdopted(known func(pid int) bool, patience time.Duration) (left []int) {
	for deadline := time.Now().Add(patience); ; time.Sleep(sweepPause) {
		adopted, err := adopted(known)
		// A look at the list can miss one whose parent dies meanwhile; that
		// parent, dead or dying, is in the list then.
		if len(adopted) == 0 || err != nil {
			return nil
		}
		for _, pid := range adopted {
			_ = Kill(pid) // gone meanwhile, or found again
			reap(pid)
		}
		if time.Now().After(deadline) {
			return adopted
		}
	}
}

// adopted lists the children of this process, zombies included, that lie in
// other sessions and are not known.
func adopted(known func(pid int) bool) ([]int, error) {
	own, err := unix.Getsid(0)
	if err != nil {
		return nil, err
	}
	children, err := kin(os.Getpid(), true)
	return slices.DeleteFunc(children, func(pid int) bool {
		sid, err := unix.Getsid(pid)
		return err != nil || sid == own || known(pid)
	}), err
}

func reap(pid int) {
	var status syscall.WaitStatus
	_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil) // still dying, or not ours
}

// Children lists the processes whose parent is pid, zombies not counted.
func Children(pid int) ([]int, error) { return kin(pid, false) }

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
