//go:build !unix

package pipe

// Pseudo-terminals are not supported on these systems.

import "os"

// OpenPTY is not supported on this system.
func OpenPTY(int, int) (ours, theirs *os.File, err error) { return nil, nil, ErrUnsupported }

// ResizePTY is not supported on this system.
func ResizePTY(*os.File, int, int) error { return ErrUnsupported }
