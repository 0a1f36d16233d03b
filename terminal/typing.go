package terminal

// What is typed into a terminal.

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"ac/internal/fault"
)

// written stands beside terminal_stalled.
type written struct {
	Written int `json:"written"`
}

// Write types bytes, and returns when the kernel has them. Texts are typed one after the other,
// in the order of the calls. A program that takes none for five seconds is
// fault.TerminalStalled. held is called once where the text has to wait, nil for nothing. Write
// ends early with ctx.
func (t *Terminal) Write(ctx context.Context, p []byte, held func()) (n int, err error) {
	if t.Info().Status == Exited {
		return 0, t.over()
	}
	waits := sync.OnceFunc(func() {
		if held != nil {
			held()
		}
	})
	typed := t.turn(waits)
	defer typed()
	cut := make(chan struct{})
	uncut := context.AfterFunc(ctx, func() {
		_ = t.master.SetWriteDeadline(time.Unix(1, 0)) // a terminal that is over is written to no more
		close(cut)
	})
	defer func() {
		if !uncut() {
			<-cut // it would cut the next text off
		}
	}()
	for taken := time.Now(); n < len(p); {
		if err := t.master.SetWriteDeadline(time.Now().Add(heldAfter)); err != nil {
			return n, t.over()
		}
		if ctx.Err() != nil { // looked at behind the deadline, which would replace that of the end
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

// turn waits until the texts before are typed. typed has the next one go on.
func (t *Terminal) turn(waits func()) (typed func()) {
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
			<-before // it ends with its own context, or when the program reads nothing
		}
	}
	return func() { close(mine) }
}
