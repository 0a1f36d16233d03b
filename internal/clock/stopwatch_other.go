//go:build !linux && !darwin

package clock

import "time"

// stopwatch measures time from now on; suspended time may be missing.
func stopwatch() func() time.Duration { return waking() }

// SinceBoot is not known on this system.
func SinceBoot() time.Duration { return 0 }
