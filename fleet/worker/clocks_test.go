package worker

import (
	"testing"
	"time"

	"ac/fleet"
	"ac/internal/clock"
	"ac/workspace"
)

// clocks are a machine's clocks, which stand still until the test moves them.
type clocks struct {
	wall time.Time
	up   time.Duration
}

// worker returns a worker on a machine with these clocks.
func (c *clocks) worker(t *testing.T) *Worker {
	t.Helper()
	s := newSite(t)
	folder, err := OpenFolder(t.Context(), workspace.EnvAt(clock.New(func() time.Time { return c.wall }, 0)), s.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Worker{host: Host{Elapsed: func() time.Duration { return c.up }}, folder: folder, spool: folder.Spool, settings: fleet.Settings{KeepS: 3600}}
}

// TestTheCountSurvivesASetClock checks that the millisecond count of a session's events continues
// from when its order was taken, however the wall clock was set since.
func TestTheCountSurvivesASetClock(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{0, 48 * time.Hour, -48 * time.Hour} {
		c := &clocks{wall: time.Now(), up: time.Hour}
		w := c.worker(t)
		a := newAttempt(w, record{State: stateTaken, Order: fleet.Order{ProjectID: "p", RunID: "r"}, Taken: c.wall.UnixMilli()})
		c.wall, c.up = c.wall.Add(by), c.up+70*time.Millisecond
		order, err := a.order(t.Context(), nil)
		if err != nil || order.MonotonicMS != 70 {
			t.Errorf("set by %s: %d %v", by, order.MonotonicMS, err)
		}
	}
}

// TestASetClockRemovesNothing checks how long settled attempts are kept. A clock that nobody can
// set measures it, or the wall clock if the machine was restarted since.
func TestASetClockRemovesNothing(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		wall, up time.Duration
		expired  bool
	}{
		"a while":                      {time.Minute, time.Minute, false},
		"an hour":                      {time.Hour, time.Hour, true},
		"the clock was set ahead":      {48 * time.Hour, time.Minute, false},
		"the clock was set back":       {-48 * time.Hour, time.Hour, true},
		"the machine was started":      {time.Minute, -50 * time.Minute, false},
		"the machine was off for long": {2 * time.Hour, -50 * time.Minute, true},
	} {
		c := &clocks{wall: time.Now(), up: time.Hour}
		w := c.worker(t)
		a := newAttempt(w, record{State: stateSettled, SettledAt: c.wall.UnixMilli(), SettledUp: c.up.Milliseconds()})
		c.wall, c.up = c.wall.Add(of.wall), c.up+of.up
		if a.expired() != of.expired {
			t.Errorf("%s: expired %t", name, a.expired())
		}
	}
}
