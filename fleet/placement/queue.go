package placement

// The queue of waiting launches, and workers whose starts fail.

import (
	"cmp"
	"slices"
)

// Assignment is a launch that a worker takes.
type Assignment struct{ LaunchID, WorkerID string }

// Assign serves waiting launches by priority, then by arrival. A launch that no worker can
// take now is overtaken. Each assignment uses a slot of its worker and counts as its last
// placement; the arguments are not changed.
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

// Limits of passing over a worker whose starts fail.
const (
	failuresUntilPassedOver = 3
	passOverMS              = 60_000
	maxPassOverMS           = 15 * 60_000
)

// Starts counts the failed starts of a worker since the last one that succeeded.
type Starts struct {
	Failed  int   `json:"failed,omitempty"`
	UntilMS int64 `json:"until_ms,omitempty"` // it is passed over until then
}

// Failing reports whether the worker is passed over.
func (s Starts) Failing(nowMS int64) bool { return nowMS < s.UntilMS }

// After is the count after one more start. From the third failure in a row on, the worker
// is passed over for 60 s, doubling up to 15 min.
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
