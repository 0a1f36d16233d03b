package proc

import (
	"errors"
	"os"
)

// Replace cannot be done on this system.
func Replace(program string, _ []string) error {
	return &os.PathError{Op: "exec", Path: program, Err: errors.ErrUnsupported}
}

// HasModes says that the modes of files tell who may read them.
const HasModes = false
