//go:build !unix

package terminal

// Systems without pseudo-terminals of ours.

import (
	"errors"
	"os"
)

func openPTY(int, int) (ours, theirs *os.File, err error) { return nil, nil, errors.ErrUnsupported }

func resizePTY(*os.File, int, int) error { return errors.ErrUnsupported }
