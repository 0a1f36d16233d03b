package rpc

// Logging that never blocks the server: if stderr is not read, lines are
// dropped and counted.

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// logBacklog is how many lines are buffered.
const logBacklog = 256

// Lossy is a writer that never blocks. It drops and counts what does not fit,
// and reports the count once there is room. It is safe for concurrent use.
type Lossy struct {
	lines   chan []byte
	dropped atomic.Int64
	done    chan struct{}
}

// NewLossy makes a Lossy writer over one that may block forever.
func NewLossy(w io.Writer) *Lossy {
	l := &Lossy{lines: make(chan []byte, logBacklog), done: make(chan struct{})}
	go l.run(w)
	return l
}

func (l *Lossy) run(w io.Writer) {
	defer close(l.done)
	for line := range l.lines {
		if n := l.dropped.Swap(0); n > 0 {
			_, _ = fmt.Fprintf(w, "%d lines were dropped because stderr was not read\n", n) // nowhere to report it
		}
		_, _ = w.Write(line) // nowhere to report it
	}
}

// Write queues a line, or drops it.
func (l *Lossy) Write(line []byte) (int, error) {
	select {
	case l.lines <- append([]byte(nil), line...):
	default:
		l.dropped.Add(1)
	}
	return len(line), nil
}

// Close writes what is queued, within 100 ms. No Write may follow.
func (l *Lossy) Close() error {
	close(l.lines)
	select {
	case <-l.done:
	case <-time.After(100 * time.Millisecond):
	}
	return nil
}
