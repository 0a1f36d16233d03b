package durable

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// granularityOf returns the timestamp granularity of a file system, by its type.
func granularityOf(dir *os.File) time.Duration {
	raw, err := dir.SyscallConn()
	if err != nil {
		return Coarse
	}
	var st unix.Statfs_t
	if ctlErr := raw.Control(func(fd uintptr) { err = unix.Fstatfs(int(fd), &st) }); ctlErr != nil || err != nil {
		return Coarse
	}
	if unix.ByteSliceToString(st.Fstypename[:]) == "apfs" {
		return fine
	}
	return Coarse
}
