//go:build !linux

package pipe

import "os"

// WriteNow is not supported on this system.
func WriteNow(*os.File, []byte) (int, error) { return 0, ErrUnsupported }
