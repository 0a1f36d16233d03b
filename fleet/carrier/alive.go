package carrier

// Liveness of a worker's connection. Replies to beats prove it, so a worker pings only when
// nothing arrived. If 200 workers pinged on their own, the pings would cost the hub as much as
// the beats.

import (
	"context"
	"time"
)

const (
	// clientPingInterval is the ping interval of the client library.
	clientPingInterval = 2 * time.Minute
	// pongWithin is the timeout of one ping.
	pongWithin = pingEvery / pingsOut
)

// keepAlive reconnects if nothing arrived for pingEvery and then pingsOut pings in a row got no
// answer. It returns when the worker's context ends.
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
		_ = w.conn.ForceReconnect() // an error means that it is closed or already reconnecting
	}
}

// pings reports whether one of pingsOut pings was answered or the worker's context has ended.
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
