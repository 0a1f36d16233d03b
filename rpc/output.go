package rpc

// Output: one writer, whole lines, flushed at once. A client that does not read
// blocks no one (backpressure).

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"ac/internal/durable"
	"ac/internal/pipe"
)

const (
	// directBytes is how many bytes a writable pipe accepts without blocking.
	directBytes = 4096
	// pieceBytes is the size of one write: each accepted piece shows that the
	// client still reads.
	pieceBytes = 64 << 10
	// noteBacklog is the amount of unread output, in bytes, above which notifications wait.
	noteBacklog = 64 << 10
	// answerBacklog is the amount of unread output, in bytes, above which no more requests are
	// read.
	answerBacklog = 4 << 20
)

// output buffers lines and writes them in order. It is safe for concurrent use.
type output struct {
	w    io.Writer
	file *os.File // the writer, if it supports a check whether it is writable

	mu             sync.Mutex
	checksWritable bool // without a write that never blocks: check that the file is writable first
	pending        []byte
	spare          []byte
	writing        bool
	err            error
	room           chan struct{} // closed by the next write; nil if nobody waits
	wake           chan struct{}
	closed         bool
	lines          sync.Pool     // of *[]byte, for answers being encoded
	moved          time.Time     // when the client last accepted output
	failed         chan struct{} // closed by the first error
	done           chan struct{} // closed when the writer has ended
}

func newOutput(w io.Writer) *output {
	o := &output{
		w: w, wake: make(chan struct{}, 1),
		failed: make(chan struct{}), done: make(chan struct{}), moved: time.Now(),
	}
	o.lines.New = func() any { return new([]byte) }
	if f, ok := w.(*os.File); ok {
		o.file = f
	}
	go o.run()
	return o
}

// answer queues one line, which flush sends. Nothing is queued for a client
// that has disconnected.
func (o *output) answer(id []byte, result any, err error) {
	scratch := o.lines.Get().(*[]byte)
	line := appendAnswer((*scratch)[:0], id, result, err)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
	case len(o.pending) == 0 && cap(o.pending) < len(line):
		o.pending = line // a large line, with nothing queued before it
		return
	default:
		o.pending = append(o.pending, line...)
	}
	if cap(line) <= pieceBytes {
		*scratch = line
		o.lines.Put(scratch)
	}
}

// Notify sends a line of JSON once the client has read enough of the output
// before it.
func (o *output) Notify(ctx context.Context, line []byte) error {
	o.mu.Lock()
	for len(o.pending) > noteBacklog && o.err == nil {
		room := o.waitForRoom()
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

// flush writes what is queued: at once if that cannot block, else in the
// writer's goroutine.
func (o *output) flush() {
	o.mu.Lock()
	if len(o.pending) == 0 || o.writing {
		o.mu.Unlock()
		return
	}
	if o.writeNow() || len(o.pending) <= directBytes && o.checksWritable && pipe.Writable(o.file) && o.write() {
		o.mu.Unlock()
		return
	}
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// writeNow writes what is queued as far as possible without blocking, and
// reports whether that was everything. The caller holds the lock.
func (o *output) writeNow() (all bool) {
	if o.file == nil || o.checksWritable || o.err != nil || len(o.pending) > pieceBytes {
		return false
	}
	n, err := pipe.WriteNow(o.file, o.pending)
	switch {
	case errors.Is(err, pipe.ErrUnsupported):
		o.checksWritable = true
		return false
	case err != nil:
		return false // full, or an error that the next write hits again
	}
	o.moved = time.Now()
	if o.pending = append(o.pending[:0], o.pending[n:]...); cap(o.pending) > answerBacklog {
		o.pending = slices.Clone(o.pending)
	}
	o.signalRoom()
	return len(o.pending) == 0
}

// waitForRoom returns the channel that the next write closes. The caller holds
// the lock.
func (o *output) waitForRoom() <-chan struct{} {
	if o.room == nil {
		o.room = make(chan struct{})
	}
	return o.room
}

func (o *output) signalRoom() {
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
}

// write writes what is queued. It releases the lock while writing.
func (o *output) write() (tried bool) {
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
	o.signalRoom()
	if len(o.pending) > 0 {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	return true
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

// full returns a channel to wait on while too much output is unread, nil otherwise.
func (o *output) full() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending) <= answerBacklog || o.err != nil {
		return nil
	}
	return o.waitForRoom()
}

// stalled returns how long, counted from the given time at the earliest, the client has accepted
// nothing although output is queued.
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

// close writes the rest. It gives up once the client has accepted nothing for longer than patience,
// counted from the given time at the earliest.
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
