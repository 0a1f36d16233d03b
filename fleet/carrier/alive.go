package carrier

// Whether a worker's connection lives. Answers to its beats show that, so it pings only when
// nothing came: two hundred workers that ping each for themselves cost their hub as much as
// their beats.

import (
	"context"
	"time"
)

const (
	// seldom is how often the client library pings by itself.
	seldom = 2 * time.Minute
	// pongWithin is how long one of the pings may be without an answer that come when nothing
	// else did.
	pongWithin = pingEvery / pingsOut
)

// keepAlive makes a connection anew over which nothing came for pingEvery, nor an answer to
// pingsOut pings after that.
func (w *worker) keepAlive() {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for came := uint64(0); ; {
		select {
		case <-w.ctx.Done():
			return
		case <-ticker.C:
		}
		was := came
		if came = w.conn.Stats().InMsgs; came != was || !w.conn.IsConnected() || w.pings() {
			continue
		}
		_ = w.conn.ForceReconnect() // it is closed, or tries already
	}
}

// pings reports whether one of pingsOut pings was answered.
func (w *worker) pings() bool {
	for range pingsOut {
		ctx, cancel := context.WithTimeout(w.ctx, pongWithin)
		err := w.conn.FlushWithContext(ctx)
		cancel()
		if err == nil || w.ctx.Err() != nil {
			return true
		}
	}
	return false
}
