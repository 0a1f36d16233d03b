// Package lag tells how far the log of a session is behind its worker, and since when: a
// function of what the worker's beats say and of what is sealed.
package lag

import "time"

// maxReports bounds what is remembered of a session; the newest ones are merged past it.
const maxReports = 64

// report says that a worker has drafts up to a number, the first of them since a time.
type report struct {
	n     int64
	since time.Duration
}

// Lag is what beats say that a worker has of a session. The zero value has heard of nothing.
// Times are those of a clock that is never set. It is for one goroutine at a time.
type Lag struct {
	// Newest is the number of the newest draft that the worker has.
	Newest int64

	heard   time.Duration // when the last beat came
	reports []report      // of drafts that may not be sealed yet, in order
}

// Beat takes a beat at a time: the worker has drafts up to n, of which the oldest that it
// does not know to be sealed is so old. Older drafts keep the age that they had.
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

// Now is how many drafts are not sealed, and how long the oldest of them has waited.
func (g *Lag) Now(at time.Duration, sealed int64) (drafts int64, oldest time.Duration) {
	g.drop(sealed)
	if len(g.reports) == 0 {
		return 0, 0
	}
	return max(0, g.Newest-sealed), max(0, at-g.reports[0].since)
}
