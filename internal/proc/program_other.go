//go:build !linux

package proc

import (
	"errors"
	"os"
)

// program is not known here.
func program(int) (*os.File, error) { return nil, errors.ErrUnsupported }
