package worker

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/fleet"
)

// TestLeaseModel lets the clocks of hub and worker drift apart, and delays or loses beats and
// answers. The provider must stop before the hub abandons its session.
func TestLeaseModel(t *testing.T) {
	t.Parallel()
	const ladder = 5 * time.Second // how long a stop takes
	rapid.Check(t, func(t *rapid.T) {
		drift := rapid.Float64Range(-0.004, 0.004)
		hubRate, workerRate := 1+drift.Draw(t, "the hub's clock"), 1+drift.Draw(t, "the worker's clock")
		offset := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "up before"))
		lease := rapid.Int64Range(1, 7200).Draw(t, "lease")
		var passed time.Duration // true time
		byHub := func(at time.Duration) time.Duration { return time.Duration(float64(at) * hubRate) }
		byWorker := func(at time.Duration) time.Duration { return offset + time.Duration(float64(at)*workerRate) }
		w := &Worker{host: Host{Elapsed: func() time.Duration { return byWorker(passed) }}}
		a := newAttempt(w, record{State: stateStarted, LeaseS: lease, OnCutOff: fleet.CutOffStop, HeardAt: byWorker(0).Milliseconds()})
		a.hinted = 1 << 62 // prevents writes
		received := byHub(0)
		for range rapid.IntRange(0, 20).Draw(t, "beats") {
			sent := passed
			arrives := sent + time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "under way"))
			if rapid.Bool().Draw(t, "received") {
				received = max(received, byHub(arrives))
				if rapid.Bool().Draw(t, "answered") {
					a.renew(byWorker(sent), time.Duration(lease)*time.Second)
				}
			}
			passed += time.Duration(rapid.Int64Range(0, int64(time.Duration(lease)*time.Second/2)).Draw(t, "pause"))
			if a.leaseOver() {
				return // in time: the worker counts from the sending of a beat, the hub from its arrival
			}
		}
		fence := received + fleet.Defaults().FenceAfter(lease)
		for !a.leaseOver() {
			passed += leaseCheckInterval
		}
		if over := byHub(passed + ladder); over > fence {
			t.Fatalf("a provider runs for %s after the hub gave it up", over-fence)
		}
	})
}

func TestLeaseCountsOnlyWhatRuns(t *testing.T) {
	t.Parallel()
	now := 10 * time.Hour
	w := &Worker{host: Host{Elapsed: func() time.Duration { return now }}}
	for name, c := range map[string]struct {
		record record
		over   bool
	}{
		"over":                   {record{State: stateStarted, LeaseS: 3600, OnCutOff: fleet.CutOffStop, HeardAt: (9 * time.Hour).Milliseconds()}, true},
		"a second is left":       {record{State: stateStarted, LeaseS: 3601, OnCutOff: fleet.CutOffStop, HeardAt: (9 * time.Hour).Milliseconds()}, false},
		"goes on":                {record{State: stateStarted, LeaseS: 1, OnCutOff: fleet.CutOffContinue}, false},
		"has ended":              {record{State: stateOver, LeaseS: 1, OnCutOff: fleet.CutOffStop}, false},
		"was not granted":        {record{State: stateTaken, LeaseS: 1, OnCutOff: fleet.CutOffStop}, false},
		"another boot, just up":  {record{State: stateStarted, LeaseS: 11 * 3600, OnCutOff: fleet.CutOffStop, HeardAt: (99 * time.Hour).Milliseconds()}, false},
		"another boot, up since": {record{State: stateStarted, LeaseS: 3600, OnCutOff: fleet.CutOffStop, HeardAt: (99 * time.Hour).Milliseconds()}, true},
	} {
		a := newAttempt(w, c.record)
		if got := a.leaseOver(); got != c.over || a.leaseOver() {
			t.Errorf("%s: over is %v, and told again", name, got)
		}
	}
}
