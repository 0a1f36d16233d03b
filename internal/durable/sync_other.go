//go:build !linux

package durable

import (
	"os"
	"runtime"
)

// On macOS os.File.Sync issues F_FULLFSYNC.
func syncData(f *os.File) error { return f.Sync() }

// DropPageCache is a no-op: this system has no call to drop the page cache.
func DropPageCache(File, int64) {}

func syncDir(d *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	// File systems that cannot sync a directory report it in several ways. The names are then
	// as durable as the system makes them.
	_ = d.Sync()
	return nil
}
