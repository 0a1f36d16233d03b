package durable

import (
	"io/fs"
	"os"
)

// Identity tells files apart beyond their names. Windows gives none cheaply,
// so size and time stand in for it.
type Identity struct{ Device, Inode uint64 }

// IdentityOf reads the identity from a FileInfo of an FS.
func IdentityOf(fs.FileInfo) Identity { return Identity{} }

// SameFile reports whether two FileInfos, of whatever origin, are of one file.
func SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }
