package terminal

// Typing into a terminal.

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"ac/internal/fault"
)

// written is the detail of a terminal_stalled error.
type written struct {
	Written int `json:"written"`
}

// Write types bytes and returns once the kernel has them. Concurrent texts are typed one
// after another, in the order of the calls. If the program reads nothing for five seconds,
// Write returns fault.TerminalStalled. It calls held once, if not nil, when the text has to
// wait. When ctx ends, Write returns early.
func (t *Terminal) Write(ctx context.Context, p []byte, held func()) (n int, err error) {
	if t.Info().Status == Exited {
		return 0, t.over()
	}
	waits := sync.OnceFunc(func() {
		if held != nil {
			held()
		}
	})
	typed := t.awaitEarlierInput(waits)
	defer typed()
	cut := make(chan struct{})
	uncut := context.AfterFunc(ctx, func() {
		_ = t.master.SetWriteDeadline(time.Unix(1, 0)) // a closed terminal has no pending write
		close(cut)
	})
	defer func() {
		if !uncut() {
			<-cut // otherwise it could cut off the next text
		}
	}()
	for taken := time.Now(); n < len(p); {
		if err := t.master.SetWriteDeadline(time.Now().Add(heldAfter)); err != nil {
			return n, t.over()
		}
		if ctx.Err() != nil { // after the deadline, which may replace the one for ctx
			return n, context.Cause(ctx)
		}
		wrote, err := t.master.Write(p[n:min(n+4096, len(p))])
		if n += wrote; wrote > 0 {
			taken = time.Now()
		}
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return n, context.Cause(ctx)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return n, t.over()
		case time.Since(taken) >= stalledAfter:
			return n, fault.New(fault.TerminalStalled, "the program does not read what is typed").With(written{n})
		default:
			waits()
		}
	}
	return n, nil
}

// awaitEarlierInput waits until earlier texts are typed. The caller calls typed to let the next text
// proceed.
func (t *Terminal) awaitEarlierInput(waits func()) (typed func()) {
	mine := make(chan struct{})
	t.mu.Lock()
	before := t.typing
	t.typing = mine
	t.mu.Unlock()
	if before != nil {
		select {
		case <-before:
		default:
			waits()
			<-before // an earlier Write ends with its own context, or when it stalls
		}
	}
	return func() { close(mine) }
}
