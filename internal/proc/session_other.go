//go:build unix && !linux

package proc

import "golang.org/x/sys/unix"

// sessionOf returns the session of a process, 0 meaning this one.
func sessionOf(pid int) (int, error) { return unix.Getsid(pid) }
