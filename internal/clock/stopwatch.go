package clock

import "time"

// Stopwatch measures time from now on, by a clock that counts the time in which the machine
// was suspended and no change of the wall clock. It is safe for concurrent use.
func Stopwatch() func() time.Duration { return stopwatch() }
