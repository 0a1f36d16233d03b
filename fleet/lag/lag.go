// Package lag computes how far the log of a session lags behind its worker, and since when. It
// uses the worker's beats and the sealed drafts.
package lag

import "time"

// maxReports is how many reports a session keeps. Beyond that, the newest ones are merged.
const maxReports = 64

// report records that a worker has drafts up to n, and since when it has had the first of them.
type report struct {
	n     int64
	since time.Duration
}

// Lag records the drafts of a session that a worker reported in beats. The zero value is
// empty. Times are those of a monotonic clock. Lag is not safe for concurrent use.
type Lag struct {
	// Newest is the number of the newest draft that the worker has.
	Newest int64

	heard   time.Duration // when the last beat arrived
	reports []report      // of drafts that may be unsealed, in order
}

// Beat records a beat at now. The worker has drafts up to n. oldest is the age of the oldest one
// that it does not know to be sealed. Known drafts keep their age.
func (g *Lag) Beat(now time.Duration, n, sealed int64, oldest time.Duration) {
	g.drop(sealed)
	switch {
	case n <= g.Newest || n <= sealed:
	case len(g.reports) == 0:
		g.reports = append(g.reports, report{n, now - max(oldest, 0)})
	case len(g.reports) == maxReports:
		g.reports[maxReports-1].n = n
	default:
		g.reports = append(g.reports, report{n, g.heard}) // its drafts are newer than the previous beat
	}
	g.Newest, g.heard = n, now
}

// drop forgets reports of sealed drafts.
func (g *Lag) drop(sealed int64) {
	for len(g.reports) > 0 && g.reports[0].n <= sealed {
		g.reports = g.reports[1:]
	}
}

// Now returns the number of unsealed drafts and the age of the oldest of them.
func (g *Lag) Now(at time.Duration, sealed int64) (drafts int64, oldest time.Duration) {
	g.drop(sealed)
	if len(g.reports) == 0 {
		return 0, 0
	}
	return max(0, g.Newest-sealed), max(0, at-g.reports[0].since)
}
