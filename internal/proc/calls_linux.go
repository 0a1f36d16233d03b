package proc

// System calls for which package syscall has no functions. golang.org/x/sys/unix has them, but
// a guard must not wait for packages other than Go's own to initialize (docs/adr/0023).

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Numbers of prctl(2), waitid(2), pidfd_open(2) and poll(2), the same on all processors.
const (
	setTimerSlack     = 29 // PR_SET_TIMERSLACK
	getTimerSlack     = 30 // PR_GET_TIMERSLACK
	setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	anyChild          = 0  // P_ALL
	waitExited        = 4  // WEXITED
	leaveWaitable     = 0x01000000
	pidfdOpen         = 434 // SYS_pidfd_open
	pollIn            = 1   // POLLIN
)

// BecomeSubreaper makes this process the parent of every orphaned process among
// its descendants.
func BecomeSubreaper() error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setChildSubreaper, 1, 0, 0, 0, 0)
	return failed("prctl", errno)
}

func failed(call string, errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return os.NewSyscallError(call, errno)
}

// siginfo is the siginfo_t that waitid(2) fills in for SIGCHLD. si_pid, si_uid and si_status
// follow three ints and, on 64-bit systems, padding.
type siginfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0)) - 4]byte
	pid                int32
	uid                uint32
	status             int32
	_                  [128]byte // more than siginfo_t has
}

const codeExited = 1 // CLD_EXITED of <signal.h>

func (s *siginfo) exit() Exit {
	if s.code == codeExited {
		return Exit{Code: int(s.status)}
	}
	return Exit{Code: -1, Signal: syscall.Signal(s.status)}
}

// waitAny waits until a child has ended, and leaves it unreaped.
func waitAny() (info siginfo, err error) {
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, anyChild, 0, uintptr(unsafe.Pointer(&info)), waitExited|leaveWaitable, 0, 0)
	return info, failed("waitid", errno)
}

// sessionOf returns the session of a process, 0 meaning this one.
func sessionOf(pid int) (int, error) {
	sid, _, errno := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	return int(sid), failed("getsid", errno)
}

// awaitGone waits until a process has ended, for patience at most.
func awaitGone(pid int, patience time.Duration) {
	fd, _, errno := syscall.Syscall(pidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		time.Sleep(sweepPause)
		return
	}
	defer func() { _ = syscall.Close(int(fd)) }()
	polled := struct {
		fd              int32
		events, revents int16
	}{fd: int32(fd), events: pollIn}
	limit := syscall.NsecToTimespec(int64(patience))
	_, _, errno = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&polled)), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 && errno != syscall.EINTR {
		time.Sleep(sweepPause)
	}
}
