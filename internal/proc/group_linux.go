package proc

import "syscall"

// childAttr returns the attributes of a process that leads a group and that the kernel kills
// when the thread that started it ends. That is the last resort if a guard is killed together
// with its supervisor.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
