package watch

// A barrier for changes: the system reports changes in order. Once it reports a change of our
// own, it has reported everything that was written before.

import (
	"context"
	"errors"
	"os"
	"sync"
)

// barrier is a file without a name that is watched together with others. At most one of its
// changes is in flight. The zero value is ready.
type barrier struct {
	mu       sync.Mutex
	file     *os.File  // nil before the first change
	name     string    // the name that it had
	reported chan bool // receives true when the change in flight is reported, false if the mark ends first; nil if there is none
	odd      bool
	over     bool
}

// await waits until every change made before the call was reported, and reports whether that is
// so. It returns false if the context or the mark ends first, or if nothing can be watched. watch
// watches a file. Another goroutine must pass the names of the changes that the system reports to
// hears. await must not be called concurrently.
func (m *barrier) await(ctx context.Context, watch func(name string) error) bool {
	heard, err := m.touch(watch)
	if err != nil {
		return false
	}
	select {
	case reported := <-heard:
		return reported
	case <-ctx.Done():
	}
	m.giveUp()
	return false
}

// touch changes the file and returns a channel that receives true when the change is reported,
// or false if the mark ends first. The first change removes the file's name.
func (m *barrier) touch(watch func(name string) error) (<-chan bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return nil, os.ErrClosed
	}
	heard := make(chan bool, 1)
	if m.file != nil {
		m.reported, m.odd = heard, !m.odd
		mode := os.FileMode(0o600)
		if m.odd {
			mode = 0o400
		}
		return heard, m.file.Chmod(mode)
	}
	f, err := os.CreateTemp("", "ac-heard-")
	if err != nil {
		return nil, err
	}
	m.file, m.name, m.reported = f, f.Name(), heard
	if err := errors.Join(watch(m.name), os.Remove(m.name)); err != nil {
		m.drop()
		return nil, err
	}
	return heard, nil
}

// observe reports whether a change is one of the file. If so it completes the change in flight.
func (m *barrier) observe(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil || name != m.name {
		return false
	}
	if m.reported != nil {
		m.reported <- true
		m.reported = nil
	}
	return true
}

// giveUp makes the next change use another file, since the change in flight may still be
// reported.
func (m *barrier) giveUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop()
}

func (m *barrier) drop() {
	if m.file != nil {
		_ = m.file.Close() // the file is empty
	}
	if m.reported != nil {
		m.reported <- false
	}
	m.file, m.name, m.reported = nil, "", nil
}

// close ends the mark, and any wait for its change.
func (m *barrier) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	m.drop()
}
