package watch

// One watcher of the operating system for a folder and what is below it, shared by all
// listeners of a process.

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Tree watches a folder and folders below it, for any number of listeners. It costs nothing
// before the first of them. It is safe for concurrent use.
type Tree struct {
	dir            string
	everywhere     bool          // also where every file of a watched folder must be opened
	barrierTimeout time.Duration // how long to wait for the report of a change of our own

	barrierMu sync.Mutex // held while a change of our own is in flight
	wg        sync.WaitGroup

	mu        sync.Mutex
	system    *system // nil before the first listener, and if nothing can be watched
	listeners map[*Listener]struct{}
	closed    bool
}

// system is one watcher of the operating system.
type system struct {
	watcher *fsnotify.Watcher
	barrier barrier
	lost    chan struct{} // holds a value after changes were lost
}

// NewTree returns a Tree for a folder that may hold many files. Its Listen fails on systems
// that would open every file of a folder to watch it.
func NewTree(dir string) *Tree {
	return &Tree{dir: dir, barrierTimeout: time.Second, listeners: map[*Listener]struct{}{}}
}

// NewSmallTree returns a Tree for a folder with few files, which works on every system.
func NewSmallTree(dir string) *Tree {
	t := NewTree(dir)
	t.everywhere = true
	return t
}

// Listen returns a new listener, which hears nothing before it adds folders. If nothing can be
// watched the error is errors.ErrUnsupported or that of the system.
func (t *Tree) Listen() (*Listener, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.begin(); err != nil {
		return nil, err
	}
	l := &Listener{tree: t, wake: make(chan struct{}, 1), watched: map[string]bool{}, changes: map[string]Change{}}
	t.listeners[l] = struct{}{}
	return l, nil
}

// begin starts a watcher of the system unless there is one. The caller holds the tree's lock.
func (t *Tree) begin() error {
	switch {
	case t.closed:
		return os.ErrClosed
	case t.system != nil:
		return nil
	case runtime.GOOS == "darwin" && !t.everywhere:
		return errors.ErrUnsupported
	}
	waiting := uint(1024)
	if t.everywhere {
		waiting = 16 // a few files change seldom, and each slot takes 40 bytes
	}
	watcher, err := fsnotify.NewBufferedWatcher(waiting)
	if err != nil {
		return err
	}
	s := &system{watcher: watcher, lost: make(chan struct{}, 1)}
	t.system = s
	t.wg.Go(s.drain)
	t.wg.Go(func() { t.dispatchEvents(s) })
	return nil
}

// Close ends the watch for all listeners, and waits until its goroutines have ended.
func (t *Tree) Close() error {
	t.mu.Lock()
	t.closed = true
	s := t.system
	t.system = nil
	t.mu.Unlock()
	var err error
	if s != nil {
		err = s.close()
	}
	t.wg.Wait()
	return err
}

func (s *system) close() error {
	s.barrier.close()
	return s.watcher.Close()
}

// drain receives the errors of the watcher until it is closed. The watcher sends them while it
// holds the lock that its Add, Remove and Close need. So a goroutine that waits for nothing
// else must receive them.
func (s *system) drain() {
	for range s.watcher.Errors { // whatever the error is, changes were lost
		select {
		case s.lost <- struct{}{}:
		default:
		}
	}
}

// dispatchEvents dispatches the events of the system until its watcher is closed.
func (t *Tree) dispatchEvents(s *system) {
	for {
		select {
		case event, ok := <-s.watcher.Events:
			if !ok {
				return
			}
			if !s.barrier.observe(event.Name) && t.dispatch(s, event) {
				return
			}
		case <-s.lost:
			t.MarkLost()
		}
	}
}

// dispatch notes a change for all listeners that it concerns. It reports whether it gave up the
// watcher. It does that if a watched folder is removed or renamed: the system would go on
// watching it wherever it is, under its old name, with everything below it.
func (t *Tree) dispatch(s *system, event fsnotify.Event) (over bool) {
	name, err := filepath.Rel(t.dir, event.Name)
	if err != nil {
		return false
	}
	c := Change{
		Name: filepath.ToSlash(name), Made: event.Has(fsnotify.Create), Written: event.Has(fsnotify.Write),
		Gone: event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename),
	}
	t.mu.Lock()
	for l := range t.listeners {
		folder, self := l.watched[c.Name]
		if self || l.watched[path.Dir(c.Name)] {
			l.note(c)
		}
		over = over || folder && c.Gone
	}
	if over = over && t.system == s; over {
		t.replaceSystem()
	}
	t.mu.Unlock()
	if over {
		_ = s.close() // it is discarded anyway
	}
	return over
}

// replaceSystem replaces the current watcher with a new one. All listeners must add their
// folders again. The caller holds the tree's lock.
func (t *Tree) replaceSystem() {
	t.system = nil
	_ = t.begin() // if it fails, every later Add fails
	for l := range t.listeners {
		clear(l.watched)
		l.markLost()
	}
}

// MarkLost notifies all listeners that changes were lost, so that anything may have changed.
func (t *Tree) MarkLost() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for l := range t.listeners {
		l.markLost()
	}
}

// full returns the path of a name with slashes.
func (t *Tree) full(name string) string { return filepath.Join(t.dir, filepath.FromSlash(name)) }
