// Package lateness measures how late the machine wakes a sleeper, for tests with deadlines.
package lateness

import "time"

// nap is the length of each sleep.
const nap = 10 * time.Millisecond

// Measure adds up how late the machine wakes a sleeper, until the returned function is called,
// which must happen exactly once. The sum estimates how much the load of the machine delays
// everything else.
func Measure() (sum func() time.Duration) {
	stop, late := make(chan struct{}), make(chan time.Duration)
	go func() { // until the returned function is called
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
