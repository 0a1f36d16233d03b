//go:build !linux

package durable

import (
	"os"
	"runtime"
)

// On macOS os.File.Sync asks the drive itself (F_FULLFSYNC).
func syncData(f *os.File) error { return f.Sync() }

// Forget has the kernel read a file from the disk again; here it cannot be asked to.
func Forget(File, int64) {}

func syncDir(d *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	// File systems that cannot sync a directory say so in several ways; the
	// names are then as durable as they can be.
	_ = d.Sync()
	return nil
}
