//go:build unix && !linux && !darwin

package proc

import "time"

// Lookup cannot identify processes here.
func Lookup(int) (Identity, bool) { return Identity{}, false }

// StartedAt is unknown here.
func StartedAt(int) (time.Time, bool) { return time.Time{}, false }

// BecomeSubreaper is a no-op here.
func BecomeSubreaper() error { return nil }

// kin cannot be listed here.
func kin(int, bool) ([]int, error) { return nil, ErrUnsupported }
