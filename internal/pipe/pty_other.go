//go:build !unix

package pipe

// Systems without pseudo-terminals of ours.

import "os"

// OpenPTY has no counterpart here.
func OpenPTY(int, int) (ours, theirs *os.File, err error) { return nil, nil, ErrUnsupported }

// ResizePTY has no counterpart here.
func ResizePTY(*os.File, int, int) error { return ErrUnsupported }
