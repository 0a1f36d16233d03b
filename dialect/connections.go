package dialect

// The open connections of a listener: their limit, and their shutdown.

import (
	"bytes"
	"encoding/json"
	"sync"
)

// Connections is the set of open connections of a listener. It is safe for concurrent use.
type Connections[C comparable] struct {
	most int

	mu      sync.Mutex
	open    map[C]struct{}
	closing bool
	busy    sync.WaitGroup // handlers; none is added once closing
}

// NewConnections returns an empty set that accepts at most this many open connections.
func NewConnections[C comparable](most int) *Connections[C] {
	return &Connections[C]{most: most, open: map[C]struct{}{}}
}

// Enter adds a connection. ok is false if there are too many, or after Shut. The handler
// calls leave when it is done with the connection.
func (l *Connections[C]) Enter(c C) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing || len(l.open) >= l.most {
		return nil, false
	}
	l.open[c] = struct{}{}
	l.busy.Add(1)
	return func() {
		l.mu.Lock()
		delete(l.open, c)
		l.mu.Unlock()
		l.busy.Done()
	}, true
}

// All returns the open connections, in no particular order.
func (l *Connections[C]) All() []C {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]C, 0, len(l.open))
	for c := range l.open {
		list = append(list, c)
	}
	return list
}

// Count returns the number of open connections.
func (l *Connections[C]) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// Shut refuses new connections and calls leave for each open one, concurrently. It waits for these
// calls, not for the handlers.
func (l *Connections[C]) Shut(leave func(C)) {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range l.All() {
		wg.Go(func() { leave(c) })
	}
	wg.Wait()
}

// Wait waits for the handlers to return. Call it after Shut.
func (l *Connections[C]) Wait() { l.busy.Wait() }

// Encode returns a message as JSON on one line, without HTML escaping.
func Encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
