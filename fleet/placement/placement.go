// Package placement decides which worker executes an attempt, and which launches wait. It is
// pure: it depends only on the workers, the launches and the time that it is given. Its functions
// are safe for concurrent use as long as nobody changes their arguments.
package placement

import (
	"cmp"
	"slices"
)

// Worker is a worker as the hub sees it.
type Worker struct {
	ID, Name string
	State    State
	// Online reports whether the last beat is younger than unreachable_after.
	Online bool
	// Labels are the labels that count for placement, including the built-in ones.
	Labels    []string
	Providers []string
	Cooling   []string // providers in cooldown on this worker
	Secrets   []string
	Orders    Versions // zero before its first hello
	DiskFree  int64    // bytes
	MinFree   int64    // bytes of free disk below which it accepts no orders
	Slots     int
	Used      int      // slots occupied by the hub's attempts
	Repos     []string // ids of the repositories that it mirrors
	// LastPlacedMS is when the worker got its last attempt in Unix milliseconds, 0 for never.
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

// Versions is an inclusive range of order versions.
type Versions struct{ Min, Max int }

// Common returns the highest version in both ranges. ok is false if there is none.
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
	Arrival  int64 // a number that increases with each launch
	Provider string
	Labels   []string // the worker must have all of them
	Secrets  []string // names
	RepoID   string   // "" for none
	Orders   Versions // versions that the hub can write
	// Named is the id of the worker that the caller asked for.
	Named string
	// Only is the id of the only worker that may execute it, "" for any.
	Only string
	// Earlier is the worker of the same run's previous session. A launch that resumes the agent's
	// own conversation waits for that worker until BoundUntilMS, and may go elsewhere later.
	Earlier      string
	BoundUntilMS int64
	// Last are workers that did not claim an order of this launch. They are picked last.
	Last []string
}

// Why is the reason why a worker cannot execute a launch, in a form for callers.
type Why string

// The reasons. Temporary ones are at the end.
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

// IsTemporary reports whether the reason is temporary: the launch may fit later without a change to
// the worker's record or configuration.
func (w Why) IsTemporary() bool {
	return w == WhyOffline || w == WhyFailing || w == WhyDisk || w == WhySlots
}

// Check returns why a worker cannot execute a launch now, or Fits. If the worker has said hello
// and several reasons hold, Check prefers a lasting one.
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
		return WhyOffline // unknown until its first hello to this hub
	case !common:
		return WhyVersion
	case !holdsAll(w.Labels, l.Labels):
		return WhyLabels
	case l.Only != "" && l.Only != w.ID:
		return WhyProvider // its program was judged on another worker
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

// Refusal is why a worker did not fit a launch.
type Refusal struct {
	WorkerID string `json:"worker_id"`
	Name     string `json:"name"`
	Why      Why    `json:"why"`
}

// Refusals returns for each worker why it does not fit a launch now, sorted by name. It omits
// workers that fit.
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

// CannotFit reports whether waiting is useless: no worker fits, and no reason is temporary.
func CannotFit(workers []Worker, l Launch, nowMS int64) bool {
	return !slices.ContainsFunc(workers, func(w Worker) bool {
		why := Check(w, l, nowMS)
		return why == Fits || why.IsTemporary()
	})
}

// Pick chooses a worker for a launch now. ok is false if no worker fits, or if the launch still
// waits for the worker of the previous session.
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

// canReturn reports whether the worker of the previous session fits the launch, now or later.
func canReturn(workers []Worker, l Launch, nowMS int64) bool {
	return slices.ContainsFunc(workers, func(w Worker) bool {
		why := Check(w, l, nowMS)
		return w.ID == l.Earlier && (why == Fits || why.IsTemporary())
	})
}

// prefer compares two workers that fit a launch; the better one is less.
func prefer(a, b Worker, l Launch) int {
	return cmp.Or(
		first(!slices.Contains(l.Last, a.ID), !slices.Contains(l.Last, b.ID)),
		first(a.ID == l.Named, b.ID == l.Named),
		first(a.ID == l.Earlier, b.ID == l.Earlier),
		first(l.RepoID != "" && slices.Contains(a.Repos, l.RepoID), l.RepoID != "" && slices.Contains(b.Repos, l.RepoID)),
		cmp.Compare(a.Used*b.Slots, b.Used*a.Slots), // compares the shares of used slots without division
		cmp.Compare(a.LastPlacedMS, b.LastPlacedMS),
		cmp.Compare(a.ID, b.ID),
	)
}

// first compares two bools; true sorts before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
