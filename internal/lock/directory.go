package lock

// What holds the lock of a directory.

import (
	"os"

	"ac/internal/durable"
)

// Directory is a directory that is locked.
type Directory struct {
	// Identity is that of the directory, whatever name it was locked by.
	Identity durable.Identity
	// File is the open directory that the lock is on, nil where locks cannot be
	// inherited. A process that inherits it holds the lock, too, until it ends.
	File    *os.File
	release func() error
}

// Release releases the lock.
func (d *Directory) Release() error { return d.release() }
