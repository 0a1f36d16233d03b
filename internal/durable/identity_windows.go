package durable

import (
	"io/fs"
	"os"
)

// Identity identifies a file independently of its names. On Windows this is not
// available cheaply, so size and times stand in for it.
type Identity struct{ Device, Inode uint64 }

// IdentityOf reads the identity from a FileInfo of an FS.
func IdentityOf(fs.FileInfo) Identity { return Identity{} }

// SameFile reports whether two FileInfos, of any origin, describe one file.
func SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }
