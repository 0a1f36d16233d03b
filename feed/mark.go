package feed

// Hearing of everything that was written before a moment: the system tells of changes in
// order, so that what stands before a change of our own was heard with it.

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// markPatience is how long a change of our own is waited for.
const markPatience = time.Second

// mark is a file without a name that is watched together with the logs. One change of
// it is under way at a time. The zero value is ready.
type mark struct {
	mu    sync.Mutex
	file  *os.File      // nil before the first change
	name  string        // that it had
	heard chan struct{} // closed with the change that is waited for; nil for none
	odd   bool
	over  bool
}

// drain returns once every change was heard of that was made before. It reports whether
// that is so. The caller holds scanning.
func (w *watcher) drain(ctx context.Context) bool {
	if w.notify == nil {
		return false
	}
	heard, err := w.own.change(w.notify.Add)
	if err != nil {
		return false
	}
	limit := time.NewTimer(markPatience)
	defer limit.Stop()
	select {
	case <-heard:
		return true
	case <-limit.C:
	case <-ctx.Done():
	case <-w.ctx.Done():
	}
	w.own.giveUp()
	return false
}

// change changes the file and gives what is closed when that is heard of. The first
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
	m.file, m.name, m.heard = nil, "", nil
}

func (m *mark) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	m.drop()
}
