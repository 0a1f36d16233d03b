// Package inflight lets a request talk to the server's scheduler without
// knowing the server. A request can leave the order of requests because it only
// waits from now on, and can register work for after its answer. Outside a
// server these calls are no-ops or run at once, so that one-shot commands share
// the methods.
package inflight

import (
	"context"
	"time"
)

type hooksKey struct{}

// Hooks are the functions of the server for one request. Each may be nil.
type Hooks struct {
	// Leave leaves the order of requests: later requests no longer wait for
	// this one.
	Leave func()
	// Wait moves the request to the waiting ones.
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

func from(ctx context.Context) *Hooks {
	hooks, _ := ctx.Value(hooksKey{}).(*Hooks)
	return hooks
}

// Leave leaves the order of requests, because only waiting follows. It is
// idempotent.
func Leave(ctx context.Context) {
	if h := from(ctx); h != nil && h.Leave != nil {
		h.Leave()
	}
}

// Wait leaves the order of requests for a wait without a bound of its own. The
// returned context also ends with the server's waits; the caller must call done
// when the wait is over. The error means that too many requests wait already.
// Outside a server the context is the one passed in.
func Wait(ctx context.Context) (waiting context.Context, done func(), err error) {
	if h := from(ctx); h != nil && h.Wait != nil {
		return h.Wait(ctx)
	}
	Leave(ctx)
	return ctx, func() {}, nil
}

// After runs fn once the answer of this request has been queued for output, or
// at once outside a server.
func After(ctx context.Context, fn func()) {
	if h := from(ctx); h != nil && h.After != nil {
		h.After(fn)
		return
	}
	fn()
}

// ArrivalTime is when the request was read, or the zero time outside a server.
func ArrivalTime(ctx context.Context) time.Time {
	if h := from(ctx); h != nil {
		return h.ArrivedAt
	}
	return time.Time{}
}
