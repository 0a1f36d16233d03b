package watch

// Hearing of everything that was written before a moment: the system reports changes
// in order, so that what stands before a change of our own was heard with it.

import (
	"context"
	"errors"
	"os"
	"sync"
)

// mark is a file without a name that is watched together with others. One change of
// it is under way at a time. The zero value is ready.
type mark struct {
	mu    sync.Mutex
	file  *os.File      // nil before the first change
	name  string        // that it had
	heard chan struct{} // closed with the change that is waited for; nil for none
	odd   bool
	over  bool
}

// await returns once every change was heard of that was made before, and reports
// whether that is so: not when the context ends first, or where nothing can be watched.
// watch watches a file; another goroutine passes the changes that it reports to hears.
// One call at a time.
func (m *mark) await(ctx context.Context, watch func(name string) error) bool {
	heard, err := m.change(watch)
	if err != nil {
		return false
	}
	select {
	case <-heard:
		return true
	case <-ctx.Done():
	}
	m.giveUp()
	return false
}

// change changes the file and returns what is closed when that is heard of. The first
// change is that it loses its name.
func (m *mark) change(watch func(name string) error) (<-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return nil, os.ErrClosed
	}
	heard := make(chan struct{})
	if m.file != nil {
		m.heard, m.odd = heard, !m.odd
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
	m.file, m.name, m.heard = f, f.Name(), heard
	if err := errors.Join(watch(m.name), os.Remove(m.name)); err != nil {
		m.drop()
		return nil, err
	}
	return heard, nil
}

// hears reports whether a change is one of the file.
func (m *mark) hears(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil || name != m.name {
		return false
	}
	if m.heard != nil {
		close(m.heard)
		m.heard = nil
	}
	return true
}

// giveUp lets the next change be one of another file: that of this one may still be
// heard of.
func (m *mark) giveUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop()
}

func (m *mark) drop() {
	if m.file != nil {
		_ = m.file.Close() // nothing stands in it
	}
	if m.heard != nil {
		close(m.heard)
	}
	m.file, m.name, m.heard = nil, "", nil
}

// close ends it, and whatever is waited for.
func (m *mark) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	m.drop()
}
