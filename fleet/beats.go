package fleet

// When workers beat: together, so that the hub wakes up for many of them at once.

import (
	"hash/fnv"
	"time"
)

// beatsTogether is about how many workers beat at one moment.
const beatsTogether = 64

// NextBeat is how long a worker waits for its next beat, as the hub tells it: from three
// quarters of a beat less than the time between two to a quarter more. now is the hub's
// clock when the answer arrives.
func NextBeat(worker string, workers int, beat, now time.Duration) time.Duration {
	moments := 1 + max(workers-1, 0)/beatsTogether
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(worker)) // never fails
	moment := beat * time.Duration(int(sum.Sum32())%moments) / time.Duration(moments)
	wait := (moment - now) % beat
	if wait < 0 {
		wait += beat
	}
	if wait < beat/4 { // this beat was early for it
		wait += beat
	}
	return wait
}
