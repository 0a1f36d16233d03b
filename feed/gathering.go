package feed

// Gathering changes that come one after the other: two hundred agents that say something every
// second would otherwise wake the process, and all who listen, for each line.

import "time"

const (
	// gather is how long changes are gathered where there are many.
	gather = 20 * time.Millisecond
	// within is how long changes count, and for how long they are gathered at least.
	within = 100 * time.Millisecond
	// much is how much may be heeded at once within that time before changes are gathered: ten
	// runs in turn, or two hundred changes of one. A launch makes dozens, and somebody waits for
	// each of them.
	much       = 200
	anotherOne = 20
	theSame    = 1
	// few is with how many changes in one time gather it ends: a timer for so few costs as much
	// as to heed each of them.
	few = 2
)

// gathering is whether changes are gathered.
type gathering struct {
	on    bool
	since time.Time // of what is counted, or gathered
	count int       // what was heeded at once since then
	run   string    // whose changes were heeded last
}

// wait is how long to gather before what changed now is heeded.
func (g *gathering) wait() time.Duration {
	if g.on {
		return gather
	}
	return 0
}

// heeded says how many changes were heeded together, and of which run the last one was, ""
// for none.
func (g *gathering) heeded(now time.Time, n int, run string) {
	over := now.Sub(g.since) > within
	if g.on {
		if over && n <= few {
			*g = gathering{since: now, run: run}
		}
		return
	}
	if over {
		g.since, g.count = now, 0
	}
	switch run {
	case "":
	case g.run:
		g.count += theSame
	default:
		g.run, g.count = run, g.count+anotherOne
	}
	if g.count > much {
		g.on, g.since = true, now
	}
}

// pause returns after a while, or when the watcher is stopped.
func (w *watcher) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-w.ctx.Done():
	case <-time.After(d):
	}
}
