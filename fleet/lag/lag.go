// Package lag computes how far the log of a session is behind its worker, and since when,
// from the worker's beats and from what is sealed.
package lag

import "time"

// maxReports bounds what is remembered of a session; the newest ones are merged past it.
const maxReports = 64

// report says that a worker has drafts up to a number, the first of them since a time.
type report struct {
	n     int64
	since time.Duration
}

// Lag records the drafts of a session that a worker reported in beats. The zero value is
// empty. Times are those of a monotonic clock. Lag is not safe for concurrent use.
type Lag struct {
	// Newest is the number of the newest draft that the worker has.
	Newest int64

	heard   time.Duration // when the last beat came
	reports []report      // of drafts that may not be sealed yet, in order
}

// Beat records a beat at now: the worker has drafts up to n, and the oldest of them that it
// does not know to be sealed has this age. Known drafts keep their age.
func (g *Lag) Beat(now time.Duration, n, sealed int64, oldest time.Duration) {
	g.drop(sealed)
	switch {
	case n <= g.Newest || n <= sealed:
	case len(g.reports) == 0:
		g.reports = append(g.reports, report{n, now - max(oldest, 0)})
	case len(g.reports) == maxReports:
		g.reports[maxReports-1].n = n
	default:
		g.reports = append(g.reports, report{n, g.heard}) // it came after the beat before
	}
	g.Newest, g.heard = n, now
}

// drop forgets what is sealed.
func (g *Lag) drop(sealed int64) {
	for len(g.reports) > 0 && g.reports[0].n <= sealed {
		g.reports = g.reports[1:]
	}
}

// Now returns how many drafts are not sealed, and how long the oldest of them has waited.
func (g *Lag) Now(at time.Duration, sealed int64) (drafts int64, oldest time.Duration) {
	g.drop(sealed)
	if len(g.reports) == 0 {
		return 0, 0
	}
	return max(0, g.Newest-sealed), max(0, at-g.reports[0].since)
}
