package feed

import (
	"fmt"
	"testing"
	"time"
)

// TestGathering checks that occasional changes are handled at once, and a flood in batches.
func TestGathering(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		apart   time.Duration
		logs    int // that change
		atLeast int // how often changes are handled in a second
		atMost  int
	}{
		"ten a second":         {100 * time.Millisecond, 10, 10, 10},
		"eighty a second":      {12500 * time.Microsecond, 80, 80, 80},
		"two hundred a second": {5 * time.Millisecond, 200, 40, 70},
		"one log in a flood":   {100 * time.Microsecond, 1, 100, 2000},
		"a flood":              {100 * time.Microsecond, 200, 40, 70},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var g batcher
			heeded, changed := 0, 0
			var due time.Time
			began := time.UnixMilli(1_000_000)
			for now, n := began, 0; now.Sub(began) < time.Second; now, n = now.Add(c.apart), n+1 {
				changed = min(changed+1, c.logs)
				if due.IsZero() {
					due = now.Add(g.wait())
				}
				if now.Before(due) {
					continue
				}
				g.observe(now, changed, fmt.Sprintf("work/projects/p/runs/run_%d", n%c.logs))
				heeded, changed, due = heeded+1, 0, time.Time{}
			}
			if heeded < c.atLeast || heeded > c.atMost {
				t.Errorf("%d times", heeded)
			}
		})
	}
}

// TestGatheringOfALaunch checks that the changes of successive launches are handled at once.
func TestGatheringOfALaunch(t *testing.T) {
	t.Parallel()
	var g batcher
	now := time.UnixMilli(1_000_000)
	for launch := range 20 {
		for change := range 40 {
			if wait := g.wait(); wait != 0 {
				t.Fatalf("change %d of launch %d waits %s", change, launch, wait)
			}
			g.observe(now, 1, fmt.Sprintf("work/projects/p/runs/run_%d", launch))
			now = now.Add(time.Millisecond)
		}
		now = now.Add(10 * time.Millisecond)
	}
}
