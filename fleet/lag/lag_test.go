package lag

import (
	"testing"
	"time"
)

// TestLag checks that the age is that of the oldest unsealed draft, whatever arrives later and
// however long the worker was cut off.
func TestLag(t *testing.T) {
	t.Parallel()
	var g Lag
	check := func(at time.Duration, sealed, drafts int64, oldest time.Duration) {
		t.Helper()
		if n, age := g.Now(at, sealed); n != drafts || age != oldest {
			t.Errorf("at %s: %d drafts, the oldest %s; want %d, %s", at, n, age, drafts, oldest)
		}
	}
	check(0, 0, 0, 0)
	g.Beat(10*time.Second, 5, 0, time.Hour) // the worker was cut off
	check(11*time.Second, 0, 5, time.Hour+time.Second)
	g.Beat(15*time.Second, 8, 0, time.Hour+5*time.Second)
	check(20*time.Second, 2, 6, time.Hour+10*time.Second)
	check(20*time.Second, 5, 3, 10*time.Second) // these drafts are newer than the first beat
	check(20*time.Second, 8, 0, 0)
	g.Beat(25*time.Second, 8, 8, 0)
	check(30*time.Second, 8, 0, 0)
	g.Beat(30*time.Second, 9, 9, time.Second) // the draft was sealed before this beat reported it
	check(30*time.Second, 9, 0, 0)
	for i := range int64(10 * maxReports) {
		g.Beat(40*time.Second+time.Duration(i)*time.Second, 10+i, 9, time.Second)
	}
	check(40*time.Second, 9, 10*maxReports, time.Second)
	if len(g.reports) > maxReports {
		t.Errorf("%d reports are remembered", len(g.reports))
	}
}
