//go:build unix

package proc

import (
	"os"
	"syscall"
)

// Replace has a program take the place of this process, with its environment and its open
// standard files. It returns only when that fails.
func Replace(program string, argv []string) error {
	return &os.PathError{Op: "exec", Path: program, Err: syscall.Exec(program, argv, os.Environ())}
}

// HasModes says that the modes of files tell who may read them.
const HasModes = true
