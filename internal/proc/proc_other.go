//go:build unix && !linux && !darwin

package proc

import "time"

// Lookup cannot tell processes apart here.
func Lookup(int) (Identity, bool) { return Identity{}, false }

// StartedAt is unknown here.
func StartedAt(int) (time.Time, bool) { return time.Time{}, false }

// BecomeSubreaper has no counterpart here.
func BecomeSubreaper() error { return nil }

// Children cannot be listed here.
func Children(int) ([]int, error) { return nil, ErrUnsupported }
