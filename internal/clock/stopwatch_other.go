//go:build !linux && !darwin

package clock

import "time"

// stopwatch measures time from now on; suspended time may be missing.
func stopwatch() func() time.Duration { return waking() }

// SinceBoot returns 0, because this system does not provide it.
func SinceBoot() time.Duration { return 0 }
