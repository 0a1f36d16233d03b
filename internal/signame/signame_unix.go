//go:build unix

package signame

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Of is the POSIX name of a signal: SIGTERM.
func Of(sig syscall.Signal) string { return unix.SignalName(sig) }
