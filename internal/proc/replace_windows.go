package proc

import (
	"errors"
	"os"
)

// Replace is not supported on this system.
func Replace(program string, _ []string) error {
	return &os.PathError{Op: "exec", Path: program, Err: errors.ErrUnsupported}
}

// HasModes tells whether the modes of files determine who may read them.
const HasModes = false
