// Package inflight lets the handler of a request talk to the server's scheduler without knowing
// the server. A request that from now on only waits can leave the order of requests. A request
// can also register work to run after its answer. Outside a server these calls are no-ops or
// run at once, so that one-shot commands can share the methods.
package inflight

import (
	"context"
	"time"
)

type hooksKey struct{}

// Hooks are the functions of the server for one request. Each may be nil.
type Hooks struct {
	// Leave takes the request out of the order: later requests no longer wait for it.
	Leave func()
	// Wait moves the request from the order to the waiting requests.
	Wait func(ctx context.Context) (waiting context.Context, done func(), err error)
	// After runs fn once the answer has been queued for output.
	After func(fn func())
	// ArrivedAt is when the request was read. Bounded waits count from it.
	ArrivedAt time.Time
}

// With attaches hooks to a context.
func With(ctx context.Context, hooks *Hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, hooks)
}

func hooksOf(ctx context.Context) *Hooks {
	hooks, _ := ctx.Value(hooksKey{}).(*Hooks)
	return hooks
}

// Leave takes the request out of the order of requests, because it only waits from now on. It
// is idempotent.
func Leave(ctx context.Context) {
	if h := hooksOf(ctx); h != nil && h.Leave != nil {
		h.Leave()
	}
}

// Wait takes the request out of the order, for a wait that has no bound of its own. The
// returned context also ends when the server ends its waits. The caller must call done when the
// wait is over. The error means that too many requests are waiting already. Outside a server
// Wait returns ctx itself.
func Wait(ctx context.Context) (waiting context.Context, done func(), err error) {
	if h := hooksOf(ctx); h != nil && h.Wait != nil {
		return h.Wait(ctx)
	}
	Leave(ctx)
	return ctx, func() {}, nil
}

// After runs fn once the answer of this request has been queued for output, or
// at once outside a server.
func After(ctx context.Context, fn func()) {
	if h := hooksOf(ctx); h != nil && h.After != nil {
		h.After(fn)
		return
	}
	fn()
}

// ArrivalTime returns when the request was read, or the zero time outside a server.
func ArrivalTime(ctx context.Context) time.Time {
	if h := hooksOf(ctx); h != nil {
		return h.ArrivedAt
	}
	return time.Time{}
}
