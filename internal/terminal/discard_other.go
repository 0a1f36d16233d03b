//go:build !linux && !darwin

package terminal

import "errors"

// DiscardInput discards what was typed into a terminal and not yet read. It returns
// errors.ErrUnsupported.
func DiscardInput(uintptr) error { return errors.ErrUnsupported }
