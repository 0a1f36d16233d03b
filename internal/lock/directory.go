package lock

// The result of locking a directory.

import (
	"os"

	"ac/internal/durable"
)

// Directory is a locked directory.
type Directory struct {
	// Identity identifies the directory, whatever name it was locked by.
	Identity durable.Identity
	// File is the open directory that carries the lock, nil where locks cannot be inherited. A
	// process that inherits it also holds the lock, until it ends.
	File    *os.File
	release func() error
}

// Release releases the lock.
func (d *Directory) Release() error { return d.release() }
