// Package lateness is for tests with deadlines: it measures how late the
// machine itself wakes a sleeper meanwhile.
package lateness

import "time"

// nap is the length of each sleep.
const nap = 10 * time.Millisecond

// Measure adds up by how much the machine wakes a sleeper late, until the
// returned function is called, which must happen once. That is how much the
// load of the machine delays everything else.
func Measure() (sum func() time.Duration) {
	stop, late := make(chan struct{}), make(chan time.Duration)
	go func() { // ends with the call
		var all time.Duration
		for {
			began := time.Now()
			select {
			case <-stop:
				late <- all
				return
			case <-time.After(nap):
				all += time.Since(began) - nap
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-late
	}
}
