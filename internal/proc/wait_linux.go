package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// AwaitExit waits for a child that Start made and reaps the orphaned processes
// that this subreaper adopts meanwhile. The child itself stays a zombie, so
// that neither its number nor that of its group is reused before Sweep.
func AwaitExit(pid int) (Exit, error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return Exit{}, os.NewSyscallError("waitid", err)
		}
		child, status := childOf(&info)
		if child == pid {
			return status, nil
		}
		var ended syscall.WaitStatus
		if _, err := syscall.Wait4(child, &ended, syscall.WNOHANG, nil); err != nil && !errors.Is(err, syscall.ECHILD) {
			return Exit{}, os.NewSyscallError("wait4", err)
		}
	}
}
