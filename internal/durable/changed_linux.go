package durable

import (
	"io/fs"
	"syscall"
)

// changeTime returns when the inode last changed, in Unix nanoseconds.
func changeTime(st fs.FileInfo) int64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Ctim.Nano()
	}
	return 0
}
