package proc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childInfo is the part of siginfo_t that waitid(2) fills in for SIGCHLD:
// si_pid, si_uid and si_status follow three ints and, on 64-bit systems,
// padding.
type childInfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0)) - 4]byte
	pid                int32
	uid                uint32
	status             int32
}

const codeExited = 1 // CLD_EXITED of <signal.h>

func childOf(info *unix.Siginfo) (pid int, exit Exit) {
	c := (*childInfo)(unsafe.Pointer(info))
	if c.code == codeExited {
		return int(c.pid), Exit{Code: int(c.status)}
	}
	return int(c.pid), Exit{Code: -1, Signal: syscall.Signal(c.status)}
}
