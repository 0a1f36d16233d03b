package runtimetest

// Temporary files of tests in memory, where the system has a file system for that. Most of the
// processor time of an fsync is spent on the disk's journal, and tests kill processes, not
// machines.

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	memory = "/dev/shm"
	room   = 2 << 30 // bytes; far more than all tests use at once
)

// InMemory places the temporary directories of this process's tests, and of programs that they
// start, in memory. It does nothing if TMPDIR is set, if memory lacks room, or if programs
// there cannot be executed. Call it in TestMain.
func InMemory() {
	if os.Getenv("TMPDIR") != "" || !hasRoom(memory) {
		return
	}
	if err := os.Setenv("TMPDIR", memory); err != nil {
		panic(err) // no test can run
	}
}

// hasRoom reports whether dir is in memory, has room, and lets this process write and execute
// programs.
func hasRoom(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		return false
	}
	return int64(fs.Type) == unix.TMPFS_MAGIC && fs.Flags&unix.ST_NOEXEC == 0 && fs.Bavail*uint64(fs.Bsize) >= room //nolint:unconvert // the types differ by processor
}
