package fleet

import (
	"fmt"
	"testing"
	"time"
)

// TestWorkersBeatTogether checks that workers that start at any time share a few moments from their
// second beat on. Each beats once per interval.
func TestWorkersBeatTogether(t *testing.T) {
	t.Parallel()
	const workers, beat = 200, 5 * time.Second
	moments := map[time.Duration]int{}
	for n := range workers {
		at := beat * time.Duration(n) / workers
		for range 5 {
			wait := NextBeat(fmt.Sprint("wkr_", n), workers, beat, at)
			if wait < beat/4 || wait >= beat+beat/4 {
				t.Fatalf("a worker beats after %s", wait)
			}
			at += wait
		}
		moments[at%beat]++
	}
	if len(moments) > 1+(workers-1)/beatsTogether {
		t.Errorf("they beat at %v", moments)
	}
	for at, n := range moments {
		if n > 2*beatsTogether {
			t.Errorf("%d beat at %s", n, at)
		}
	}
}

// TestABeatThatIsToldWrongly checks that an implausible wait is limited to 1/4 to 5/4 of the
// interval.
func TestABeatThatIsToldWrongly(t *testing.T) {
	t.Parallel()
	s := Defaults()
	for told, want := range map[time.Duration]time.Duration{
		0: 5 * time.Second, 1: 1250 * time.Millisecond, 3 * time.Second: 3 * time.Second, time.Hour: 6250 * time.Millisecond, -time.Hour: 1250 * time.Millisecond,
	} {
		if got := s.Wait(told); got != want {
			t.Errorf("told %s it waits %s, not %s", told, got, want)
		}
	}
}
