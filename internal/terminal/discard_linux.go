package terminal

import "golang.org/x/sys/unix"

// DiscardInput discards what was typed into a terminal and not yet read.
func DiscardInput(fd uintptr) error {
	return unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH)
}
