package feed

// Gathering changes that come one after the other: two hundred agents that say something every
// second would otherwise wake the process, and all who listen, for each line.

import "time"

const (
	// gather is how long changes are gathered where there are many.
	gather = 20 * time.Millisecond
	// many is how often changes of another run are heeded at once, within manyIn, before
	// changes are gathered.
	many   = 10
	manyIn = 100 * time.Millisecond
	// few is with how many changes in one time gather it ends: a timer for so few costs as much
	// as to heed each of them.
	few = 2
)

// gathering is whether changes are gathered. Those of one run are not, however many they are:
// a launch alone makes dozens, and somebody waits for each.
type gathering struct {
	on    bool
	since time.Time
	run   string // whose changes were heeded last
	times int    // that the changes of another run were heeded at once since then
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
	if g.on {
		if n <= few {
			*g = gathering{}
		}
		return
	}
	if run == "" || run == g.run {
		return
	}
	if now.Sub(g.since) > manyIn {
		g.since, g.times = now, 0
	}
	g.run = run
	g.times++
	g.on = g.times > many
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
