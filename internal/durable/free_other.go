//go:build !linux && !darwin

package durable

import "errors"

// Free is not supported on this system.
func Free(string) (uint64, error) { return 0, errors.ErrUnsupported }
