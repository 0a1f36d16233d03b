//go:build unix

package durable

import (
	"io/fs"
	"syscall"
)

// Identity identifies a file independently of its names, by device and inode.
type Identity struct{ Device, Inode uint64 }

// IdentityOf reads the identity from a FileInfo of an FS.
func IdentityOf(st fs.FileInfo) Identity {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}
	}
	return Identity{Device: uint64(sys.Dev), Inode: uint64(sys.Ino)} //nolint:unconvert // the widths differ between systems
}

// SameFile reports whether two FileInfos, of any origin, describe one file.
func SameFile(a, b fs.FileInfo) bool {
	id := IdentityOf(a)
	return id != Identity{} && id == IdentityOf(b)
}
