package rpc

// Requests that turn out to wait. They no longer count as in flight, block no one, and end when the
// server cancels its waits.

import (
	"context"

	"ac/internal/fault"
	"ac/internal/inflight"
)

// wait counts a request as waiting instead of in flight. When done is called, ArrivedAt becomes the
// current time, so that its bounded waits have their full time.
func (s *Server) wait(ctx context.Context, c call, hooks *inflight.Hooks) (waiting context.Context, done func(), err error) {
	if c.slots != nil && *c.slots != s.waiting {
		select {
		case s.waiting <- struct{}{}:
			<-*c.slots
			*c.slots = s.waiting
		default:
			return nil, nil, tooManyWaiting()
		}
	}
	c.leave()
	waiting, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(s.waits, func() { cancel(context.Cause(s.waits)) })
	return waiting, func() {
		release()
		cancel(nil)
		hooks.ArrivedAt = s.opts.Env.Clock.Now()
	}, nil
}

func tooManyWaiting() error {
	return fault.New(fault.TooManyWaiting, "more than %d requests are waiting; collect some of them first", maxWaiting)
}
