package feed

// Batching of frequent changes. Otherwise two hundred agents that write every second would wake the
// process, and all its subscribers, for each line.

import "time"

const (
	// batchDelay is how long changes are collected into one batch.
	batchDelay = 20 * time.Millisecond
	// batchWindow is the window in which changes are counted, and the minimum time that batching stays
	// on.
	batchWindow = 100 * time.Millisecond
	// batchThreshold is the weight of changes in one window above which batching starts: about ten runs in
	// turn, or two hundred changes of one. A launch makes dozens, and somebody waits for each of
	// them.
	batchThreshold = 200
	otherRunWeight = 20
	sameRunWeight  = 1
	// batchStop is the batch size at which batching stops: a timer for so few changes costs as much as
	// handling each of them.
	batchStop = 2
)

// batcher tracks whether changes are batched.
type batcher struct {
	on    bool
	since time.Time // start of the window, or of batching
	count int       // weight of the changes handled in the window
	run   string    // run of the last change
}

// wait returns how long to collect changes before handling them.
func (g *batcher) wait() time.Duration {
	if g.on {
		return batchDelay
	}
	return 0
}

// observe records that n changes were handled together. run is that of the last one, "" for none.
func (g *batcher) observe(now time.Time, n int, run string) {
	over := now.Sub(g.since) > batchWindow
	if g.on {
		if over && n <= batchStop {
			*g = batcher{since: now, run: run}
		}
		return
	}
	if over {
		g.since, g.count = now, 0
	}
	switch run {
	case "":
	case g.run:
		g.count += sameRunWeight
	default:
		g.run, g.count = run, g.count+otherRunWeight
	}
	if g.count > batchThreshold {
		g.on, g.since = true, now
	}
}

// pause waits for d, or until the watcher is stopped.
func (w *watcher) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-w.ctx.Done():
	case <-time.After(d):
	}
}
