package rpc

// Output: one writer, whole lines, flushed at once, and nobody blocked by a
// client that does not read.

import (
	"context"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"ac/internal/durable"
	"ac/internal/proc"
)

const (
	// directBytes is how much a pipe that is writable takes without blocking.
	directBytes = 4096
	// pieceBytes is how much is written at once: each piece that is taken shows
	// that the client still reads.
	pieceBytes = 64 << 10
	// noteBacklog is how much may be unread before notifications wait.
	noteBacklog = 64 << 10
	// answerBacklog is how much may be unread before no more is read.
	answerBacklog = 4 << 20
)

// output gathers lines and writes them in their order. It is safe for
// concurrent use.
type output struct {
	w    io.Writer
	file *os.File // the writer, where it can be asked whether it is writable

	mu      sync.Mutex
	pending []byte
	spare   []byte
	writing bool
	err     error
	room    chan struct{} // closed and made anew whenever something was written
	wake    chan struct{}
	closed  bool
	moved   time.Time     // when the client last took something
	failed  chan struct{} // closed with the first error
	done    chan struct{} // closed when the writer has ended
}

func newOutput(w io.Writer) *output {
	o := &output{
		w: w, room: make(chan struct{}), wake: make(chan struct{}, 1),
		failed: make(chan struct{}), done: make(chan struct{}), moved: time.Now(),
	}
	if f, ok := w.(*os.File); ok {
		o.file = f
	}
	go o.run()
	return o
}

// answer queues one line, which flush sends. Nothing is kept for a client that
// is gone.
func (o *output) answer(id []byte, result any, err error) {
	line := appendAnswer(nil, id, result, err)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
	case len(o.pending) == 0 && cap(o.pending) < len(line):
		o.pending = line // large, and nothing to put it behind
	default:
		o.pending = append(o.pending, line...)
	}
}

// Notify sends a line of JSON when the client has read enough of what came
// before.
func (o *output) Notify(ctx context.Context, line []byte) error {
	o.mu.Lock()
	for len(o.pending) > noteBacklog && o.err == nil {
		room := o.room
		o.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-room:
		}
		o.mu.Lock()
	}
	if o.err == nil && ctx.Err() == nil {
		o.pending = append(append(o.pending, line...), '\n')
	}
	err := o.err
	o.mu.Unlock()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	o.flush()
	return nil
}

// flush sends what is queued: at once where that cannot block, else by the
// writer's goroutine.
func (o *output) flush() {
	o.mu.Lock()
	if len(o.pending) == 0 || o.writing {
		o.mu.Unlock()
		return
	}
	if len(o.pending) <= directBytes && o.file != nil && proc.Writable(o.file) {
		o.write()
		o.mu.Unlock()
		return
	}
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// write writes what is queued, with the lock given up meanwhile.
func (o *output) write() {
	batch := o.pending
	o.pending, o.writing = o.spare[:0], true
	var err error
	for piece := range slices.Chunk(batch, pieceBytes) {
		o.mu.Unlock()
		err = durable.WriteAll(o.w, piece)
		o.mu.Lock()
		if err != nil {
			break
		}
		o.moved = time.Now()
	}
	o.writing = false
	if o.spare = batch; cap(batch) > answerBacklog {
		o.spare = nil
	}
	if err != nil && o.err == nil {
		o.err = err
		close(o.failed)
	}
	close(o.room)
	o.room = make(chan struct{})
	if len(o.pending) > 0 {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
}

func (o *output) run() {
	defer close(o.done)
	for range o.wake {
		o.mu.Lock()
		for len(o.pending) > 0 && !o.writing && o.err == nil {
			o.write()
		}
		end := o.closed && !o.writing && (len(o.pending) == 0 || o.err != nil)
		o.mu.Unlock()
		if end {
			return
		}
	}
}

// full gives a channel to wait on while too much is unread, else nil.
func (o *output) full() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) <= answerBacklog || o.err != nil {
		return nil
	}
	return o.room
}

// stalled is for how long, from since on, the client has taken nothing although
// there is something for it.
func (o *output) stalled(since time.Time) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) == 0 && !o.writing {
		return 0
	}
	if o.moved.After(since) {
		since = o.moved
	}
	return time.Since(since)
}

// close writes the rest. It gives up when, from since on, the client has taken
// nothing for the given time.
func (o *output) close(since time.Time, patience time.Duration) {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	for {
		select {
		case o.wake <- struct{}{}:
		default:
		}
		select {
		case <-o.done:
			return
		case <-time.After(patience / 20):
		}
		if o.stalled(since) > patience {
			return
		}
	}
}
