//go:build unix

package proc

// Children that we start and reap ourselves, for processes whose whole purpose
// is to look after others.

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
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
