package clock

import "time"

// Stopwatch measures time from now on. It counts time in which the machine is suspended, and
// ignores changes of the wall clock. It is safe for concurrent use.
func Stopwatch() func() time.Duration { return stopwatch() }
