//go:build !linux && !darwin

package clock

import "time"

// stopwatch measures time from now on; suspended time may be missing.
func stopwatch() func() time.Duration { return waking() }
