//go:build unix

package signame

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Of returns the POSIX name of a signal, such as SIGTERM.
func Of(sig syscall.Signal) string { return unix.SignalName(sig) }
