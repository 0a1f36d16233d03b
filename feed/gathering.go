package feed

// Gathering changes that come one after the other: two hundred agents that say something every
// second would otherwise wake the process, and all who listen, for each line.

import "time"

const (
	// gather is how long changes are gathered where there are many.
	gather = 20 * time.Millisecond
	// many is how often changes are heeded at once, within manyIn, before they are gathered.
	many   = 10
	manyIn = 100 * time.Millisecond
	// few is with how many changes in one time gather it ends: a timer for so few costs as much
	// as to heed each of them.
	few = 2
)

// gathering is whether changes are gathered.
type gathering struct {
	on    bool
	since time.Time
	times int // that changes were heeded at once since then
}

// wait is how long to gather before what changed now is heeded.
func (g *gathering) wait(now time.Time) time.Duration {
	if g.on {
		return gather
	}
	if now.Sub(g.since) > manyIn {
		g.since, g.times = now, 0
	}
	if g.times++; g.times > many {
		g.on = true
		return gather
	}
	return 0
}

// heeded says how many changes were heeded together.
func (g *gathering) heeded(n int) {
	if g.on && n <= few {
		*g = gathering{}
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
