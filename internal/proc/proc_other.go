//go:build unix && !linux && !darwin

package proc

import "time"

// Lookup returns false, because it cannot identify processes on this system.
func Lookup(int) (Identity, bool) { return Identity{}, false }

// StartedAt returns false, because this system does not provide it.
func StartedAt(int) (time.Time, bool) { return time.Time{}, false }

// BecomeSubreaper is a no-op on this system.
func BecomeSubreaper() error { return nil }

// kin is not supported on this system.
func kin(int, bool) ([]int, error) { return nil, ErrUnsupported }
