package proc

import (
	"errors"
	"os"
	"syscall"
)

// AwaitExit waits for a child that Start started, and reaps the orphaned processes that this
// subreaper adopts meanwhile. The child itself stays a zombie, so that neither its PID nor that
// of its group is reused before Sweep.
func AwaitExit(pid int) (Exit, error) {
	for {
		info, err := waitAny()
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return Exit{}, err
		}
		child := int(info.pid)
		if child == pid {
			return info.exit(), nil
		}
		var ended syscall.WaitStatus
		if _, err := syscall.Wait4(child, &ended, syscall.WNOHANG, nil); err != nil && !errors.Is(err, syscall.ECHILD) {
			return Exit{}, os.NewSyscallError("wait4", err)
		}
	}
}
