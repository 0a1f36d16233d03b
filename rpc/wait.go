package rpc

// Requests that turn out to wait: they no longer count as in flight, hold
// nobody up, and end with the waits of the server.

import (
	"context"

	"ac/internal/fault"
	"ac/internal/inflight"
)

// wait moves a request to those that wait. Once done is called it goes on as one
// that has just arrived, so that its bounded waits are not over already.
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
	return fault.New(fault.TooManyWaiting, "more than %d requests wait already; collect some of them first", maxWaiting)
}
