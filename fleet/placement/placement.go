// Package placement decides which worker takes an attempt, and which launches wait. It is
// pure: it knows the workers as the hub sees them, the launches and the time, and nothing
// else. Its functions are safe for concurrent use as long as nobody changes their
// arguments.
package placement

import (
	"cmp"
	"slices"
)

// Worker is a worker as the hub sees it.
type Worker struct {
	ID, Name string
	State    State
	// Online: its last beat is younger than unreachable_after.
	Online bool
	// Labels are those that count for placement, the built-in ones included.
	Labels    []string
	Providers []string
	Cooling   []string // providers that are under pressure there
	Secrets   []string
	Orders    Versions // zero before its first hello
	DiskFree  int64    // bytes
	MinFree   int64    // bytes below which it takes nothing new
	Slots     int
	Used      int      // slots, by the attempts of the hub
	Repos     []string // ids of repositories that it has a mirror of
	// LastPlacedMS is when it got its last attempt, 0 for never.
	LastPlacedMS int64
	Starts       Starts
}

// State is the state of a worker's record.
type State string

// The states of a worker's record.
const (
	Invited  State = "invited"
	Active   State = "active"
	Draining State = "draining"
	Revoked  State = "revoked"
)

// Versions is a range of versions of an order, both ends included.
type Versions struct{ Min, Max int }

// Common is the highest version in both ranges; ok is false for none.
func (v Versions) Common(other Versions) (version int, ok bool) {
	version = min(v.Max, other.Max)
	return version, version >= max(v.Min, other.Min)
}

// ProviderCommand is the provider of plain commands, which every worker can run.
const ProviderCommand = "cmd"

// Launch is an attempt that needs a worker.
type Launch struct {
	ID       string
	Priority int   // higher is served first
	Arrival  int64 // a number that grows with each launch
	Provider string
	Labels   []string // all must hold
	Secrets  []string // names
	RepoID   string   // "" for none
	Orders   Versions // that the hub can write
	// Named is the id of the worker that the caller asked for.
	Named string
	// Only is the id of the one worker that may take it, "" for any that fits.
	Only string
	// Earlier is the worker that had the session before of the same run. A launch that
	// resumes the agent's own conversation waits for it until BoundUntilMS, and may go
	// elsewhere later.
	Earlier      string
	BoundUntilMS int64
	// Last are workers that did not claim an order of this launch; they come last.
	Last []string
}

// Why is the reason why a worker does not take a launch, as callers read it.
type Why string

// The reasons, those that pass by themselves at the end.
const (
	Fits        Why = ""
	WhyRevoked  Why = "revoked"
	WhyDraining Why = "draining"
	WhyVersion  Why = "order_version"
	WhyLabels   Why = "labels"
	WhyProvider Why = "provider"
	WhySecret   Why = "secret"
	WhyOffline  Why = "offline"
	WhyFailing  Why = "failing"
	WhyDisk     Why = "disk"
	WhySlots    Why = "slots"
)

// Passes reports whether a launch that was refused for this reason may fit later, with
// nothing changed in the worker's record or in its configuration.
func (w Why) Passes() bool {
	return w == WhyOffline || w == WhyFailing || w == WhyDisk || w == WhySlots
}

// Check says why a worker does not take a launch now, or Fits. Where several reasons hold,
// it names one that does not pass by itself.
func Check(w Worker, l Launch, nowMS int64) Why {
	_, common := w.Orders.Common(l.Orders)
	switch {
	case w.State == Revoked:
		return WhyRevoked
	case w.State == Draining:
		return WhyDraining
	case w.State != Active:
		return WhyOffline // it has not joined yet
	case w.Orders == (Versions{}):
		return WhyOffline // the hub has not heard of it since it began: nothing is known
	case !common:
		return WhyVersion
	case !holdsAll(w.Labels, l.Labels):
		return WhyLabels
	case l.Only != "" && l.Only != w.ID:
		return WhyProvider // its program was judged on the other one
	case l.Provider != ProviderCommand && !slices.Contains(w.Providers, l.Provider):
		return WhyProvider
	case !holdsAll(w.Secrets, l.Secrets):
		return WhySecret
	case !w.Online:
		return WhyOffline
	case w.Starts.Failing(nowMS) || slices.Contains(w.Cooling, l.Provider):
		return WhyFailing
	case w.DiskFree < w.MinFree:
		return WhyDisk
	case w.Used >= w.Slots:
		return WhySlots
	}
	return Fits
}

func holdsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
}

// Refusal says why a worker did not take a launch.
type Refusal struct {
	WorkerID string `json:"worker_id"`
	Name     string `json:"name"`
	Why      Why    `json:"why"`
}

// Refusals says for each worker why it does not take a launch now, by name; workers that
// fit are left out.
func Refusals(workers []Worker, l Launch, nowMS int64) []Refusal {
	refused := []Refusal{}
	for _, w := range workers {
		if why := Check(w, l, nowMS); why != Fits {
			refused = append(refused, Refusal{w.ID, w.Name, why})
		}
	}
	slices.SortFunc(refused, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.WorkerID, b.WorkerID))
	})
	return refused
}

// Hopeless reports whether waiting is of no use: no worker fits, and none is refused for a
// reason that passes.
func Hopeless(workers []Worker, l Launch, nowMS int64) bool {
	return !slices.ContainsFunc(workers, func(w Worker) bool {
		why := Check(w, l, nowMS)
		return why == Fits || why.Passes()
	})
}

// Pick chooses the worker that takes a launch now; ok is false where none fits, or where
// the launch still waits for the worker that had the session before.
func Pick(workers []Worker, l Launch, nowMS int64) (picked Worker, ok bool) {
	bound := nowMS < l.BoundUntilMS && canReturn(workers, l, nowMS)
	for _, w := range workers {
		if Check(w, l, nowMS) != Fits || (bound && w.ID != l.Earlier) {
			continue
		}
		if !ok || prefer(w, picked, l) < 0 {
			picked, ok = w, true
		}
	}
	return picked, ok
}

// canReturn reports whether the worker that had the session before takes the launch now,
// or may do so later.
func canReturn(workers []Worker, l Launch, nowMS int64) bool {
	return slices.ContainsFunc(workers, func(w Worker) bool {
		why := Check(w, l, nowMS)
		return w.ID == l.Earlier && (why == Fits || why.Passes())
	})
}

// prefer orders two workers that fit a launch, the better one first.
func prefer(a, b Worker, l Launch) int {
	return cmp.Or(
		first(!slices.Contains(l.Last, a.ID), !slices.Contains(l.Last, b.ID)),
		first(a.ID == l.Named, b.ID == l.Named),
		first(a.ID == l.Earlier, b.ID == l.Earlier),
		first(l.RepoID != "" && slices.Contains(a.Repos, l.RepoID), l.RepoID != "" && slices.Contains(b.Repos, l.RepoID)),
		cmp.Compare(a.Used*b.Slots, b.Used*a.Slots), // the shares of used slots, without division
		cmp.Compare(a.LastPlacedMS, b.LastPlacedMS),
		cmp.Compare(a.ID, b.ID),
	)
}

// first puts the side that has a property before the one that lacks it.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
