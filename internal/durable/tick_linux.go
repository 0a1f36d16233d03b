package durable

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// granularityOf returns the timestamp granularity of a file system, by its type. The kernel stamps
// local file systems with its own ticks, of 10 ms at most. Network, legacy and unknown file
// systems count as Coarse.
func granularityOf(dir *os.File) time.Duration {
	raw, err := dir.SyscallConn()
	if err != nil {
		return Coarse
	}
	var st unix.Statfs_t
	if ctlErr := raw.Control(func(fd uintptr) { err = unix.Fstatfs(int(fd), &st) }); ctlErr != nil || err != nil {
		return Coarse
	}
	switch int64(st.Type) { //nolint:unconvert // its size differs between machines
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC:
		return fine
	}
	return Coarse
}
