// Package lateness is for tests that hold something to a time: it tells by how
// much the machine itself is late meanwhile.
package lateness

import "time"

// nap is what is slept again and again.
const nap = 10 * time.Millisecond

// Measure sums up by how much the machine is late at waking a sleeper, until the
// function it returns is called, which must be done once. As late is whatever the
// machine does for others at the same time.
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
