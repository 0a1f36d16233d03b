package placement

// The queue of waiting launches, and the backoff for workers whose starts fail.

import (
	"cmp"
	"slices"
)

// Assignment is a launch and the worker that will execute it.
type Assignment struct{ LaunchID, WorkerID string }

// Assign assigns waiting launches to workers by priority, then by arrival. A launch that fits no
// worker now does not block others. Each assignment uses a slot of its worker and counts as its
// last placement. Assign does not change its arguments.
func Assign(workers []Worker, waiting []Launch, nowMS int64) []Assignment {
	workers, waiting = slices.Clone(workers), slices.Clone(waiting)
	slices.SortStableFunc(waiting, func(a, b Launch) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.ID, b.ID))
	})
	var assigned []Assignment
	for _, l := range waiting {
		picked, ok := Pick(workers, l, nowMS)
		if !ok {
			continue
		}
		assigned = append(assigned, Assignment{l.ID, picked.ID})
		at := slices.IndexFunc(workers, func(w Worker) bool { return w.ID == picked.ID })
		workers[at].Used++
		workers[at].LastPlacedMS = nowMS
	}
	return assigned
}

// Backoff for a worker whose starts fail.
const (
	failuresUntilPassedOver = 3
	passOverMS              = 60_000
	maxPassOverMS           = 15 * 60_000
)

// Starts counts a worker's consecutive failed starts.
type Starts struct {
	Failed  int   `json:"failed,omitempty"`
	UntilMS int64 `json:"until_ms,omitempty"` // skipped until then, Unix milliseconds
}

// Failing reports whether the worker is skipped.
func (s Starts) Failing(nowMS int64) bool { return nowMS < s.UntilMS }

// After returns the count after one more start. After the third consecutive failure the worker is
// skipped for 60 s. Each further failure doubles that, up to 15 minutes.
func (s Starts) After(succeeded bool, nowMS int64) Starts {
	if succeeded {
		return Starts{}
	}
	s.Failed++
	if s.Failed >= failuresUntilPassedOver {
		away := int64(passOverMS)
		for range s.Failed - failuresUntilPassedOver {
			if away *= 2; away >= maxPassOverMS {
				away = maxPassOverMS
				break
			}
		}
		s.UntilMS = nowMS + away
	}
	return s
}
