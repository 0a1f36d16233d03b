package runtimetest

// Where the temporary files of tests are: in memory, where the system has a file system for
// that. Most of the processor time that an fsync costs is spent on the disk's journal, and
// tests kill processes, not machines.

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	memory = "/dev/shm"
	room   = 2 << 30 // bytes; far more than all tests use at a time
)

// InMemory lets the temporary directories of this process's tests, and of programs that they
// start, be in memory. It leaves them where they are when TMPDIR says where that is, and when
// there is no room or programs there cannot be started. It belongs into TestMain.
func InMemory() {
	if os.Getenv("TMPDIR") != "" || !roomy(memory) {
		return
	}
	if err := os.Setenv("TMPDIR", memory); err != nil {
		panic(err) // no test can run
	}
}

// roomy says whether dir is in memory, has room, and lets this process write and start programs.
func roomy(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		return false
	}
	return int64(fs.Type) == unix.TMPFS_MAGIC && fs.Flags&unix.ST_NOEXEC == 0 && fs.Bavail*uint64(fs.Bsize) >= room //nolint:unconvert // the types differ by processor
}
