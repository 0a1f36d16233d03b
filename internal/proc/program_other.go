//go:build !linux

package proc

import (
	"errors"
	"os"
)

// program is not supported on this system.
func program(int) (*os.File, error) { return nil, errors.ErrUnsupported }
