package fleet

// The timing of beats. Many workers beat at the same time, so that one wakeup of the hub serves
// them.

import (
	"hash/fnv"
	"time"
)

// beatsTogether is roughly how many workers share one moment.
const beatsTogether = 64

// NextBeat returns how long a worker waits until its next beat, between 1/4 and 5/4 of the beat
// interval. now is the hub's clock when the reply arrives.
func NextBeat(worker string, workers int, beat, now time.Duration) time.Duration {
	moments := 1 + max(workers-1, 0)/beatsTogether
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(worker)) // never fails
	moment := beat * time.Duration(int(sum.Sum32())%moments) / time.Duration(moments)
	wait := (moment - now) % beat
	if wait < 0 {
		wait += beat
	}
	if wait < beat/4 { // too soon after this beat
		wait += beat
	}
	return wait
}
