//go:build unix

package proc

import (
	"os"
	"syscall"
)

// Replace replaces this process with a program (exec), which inherits its environment and
// standard files. It returns only if that fails.
func Replace(program string, argv []string) error {
	return &os.PathError{Op: "exec", Path: program, Err: syscall.Exec(program, argv, os.Environ())}
}

// HasModes tells whether the modes of files determine who may read them.
const HasModes = true
