// Package inflight lets a request tell the server about its place in the order of
// requests, without knowing the server: that it now only waits, and what is to
// happen once its answer is on its way. Outside a server both are no-ops or
// immediate, so that the same methods serve one-shot commands.
package inflight

import (
	"context"
	"time"
)

type hooksKey struct{}

// Hooks is what a server offers to a request. The functions may be nil.
type Hooks struct {
	// Leave gives up the request's place: later requests no longer wait for it.
	Leave func()
	// Wait makes the request one that waits.
	Wait func(ctx context.Context) (waiting context.Context, done func(), err error)
	// After runs fn once the answer was handed to the output.
	After func(fn func())
	// ArrivedAt is when the request was read; bounded waits count from it.
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

// Leave gives up the place in the order of requests, because what follows is
// only waiting. Calling it twice is harmless.
func Leave(ctx context.Context) {
	if h := from(ctx); h != nil && h.Leave != nil {
		h.Leave()
	}
}

// Wait gives up the place in the order of requests for a wait without bound. The
// context it gives ends with the server's waits, too; done is called once the
// wait is over. The error is for a server where too many wait already. Outside a
// server the context is the one given.
func Wait(ctx context.Context) (waiting context.Context, done func(), err error) {
	if h := from(ctx); h != nil && h.Wait != nil {
		return h.Wait(ctx)
	}
	Leave(ctx)
	return ctx, func() {}, nil
}

// After runs fn once the answer of this request was handed to the output; at
// once where there is no server.
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
