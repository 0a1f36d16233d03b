//go:build unix && !linux

package proc

import "golang.org/x/sys/unix"

// sessionOf is the session of a process, 0 for this one.
func sessionOf(pid int) (int, error) { return unix.Getsid(pid) }
