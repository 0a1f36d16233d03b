//go:build unix && !linux

package proc

import (
	"errors"
	"os"
	"syscall"
)

// AwaitExit waits for a child that Start started, and reaps it.
func AwaitExit(pid int) (Exit, error) {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		return exitOf(status), os.NewSyscallError("wait4", err)
	}
}

func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: -1, Signal: status.Signal()}
	}
	return Exit{Code: status.ExitStatus()}
}
