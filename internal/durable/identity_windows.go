package durable

import (
	"io/fs"
	"os"
)

// Identity identifies a file independently of its names. On Windows this is not available
// cheaply, so it is always zero, and versions rely on size and times.
type Identity struct{ Device, Inode uint64 }

// IdentityOf returns the zero Identity.
func IdentityOf(fs.FileInfo) Identity { return Identity{} }

// SameFile reports whether two FileInfos, of any origin, describe one file.
func SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }
