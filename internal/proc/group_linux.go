package proc

import "syscall"

// attended are the attributes of a process that leads a group and is killed
// when the thread that started it ends: the last resort for a keeper that is
// killed together with its own.
func attended() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
