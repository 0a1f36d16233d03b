package watch

// One watcher of the system for a folder and what lies below it, shared by all of a
// process who want to hear of changes there.

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

// Tree is the watch of a folder and of folders below it, for any number of listeners.
// It costs nothing before the first of them. It is safe for concurrent use.
type Tree struct {
	dir        string
	everywhere bool          // also where every file of a watched folder is opened
	patience   time.Duration // how long a change of our own is waited for

	awaiting sync.Mutex // held while a change of our own is under way
	wg       sync.WaitGroup

	mu        sync.Mutex
	system    *system // nil before the first listener, and where nothing can be watched
	listeners map[*Listener]struct{}
	closed    bool
}

// system is one watcher of the operating system.
type system struct {
	watcher *fsnotify.Watcher
	own     mark
	lost    chan struct{} // holds one when changes were lost
}

// NewTree makes the watch of a folder in which many files may lie. It does not listen
// on systems that would open every file of a folder to watch it.
func NewTree(dir string) *Tree {
	return &Tree{dir: dir, patience: time.Second, listeners: map[*Listener]struct{}{}}
}

// NewSmallTree makes the watch of a folder with few files, which works everywhere.
func NewSmallTree(dir string) *Tree {
	t := NewTree(dir)
	t.everywhere = true
	return t
}

// Listen returns a new listener, which hears nothing before it adds folders. The error
// is errors.ErrUnsupported or what the system says where nothing can be watched.
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

// begin starts a watcher of the system unless there is one; the tree is locked.
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
		waiting = 16 // few files change seldom; each place takes 40 bytes
	}
	watcher, err := fsnotify.NewBufferedWatcher(waiting)
	if err != nil {
		return err
	}
	s := &system{watcher: watcher, lost: make(chan struct{}, 1)}
	t.system = s
	t.wg.Go(s.drain)
	t.wg.Go(func() { t.hear(s) })
	return nil
}

// Close ends the watch for everybody and waits for that.
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
	s.own.close()
	return s.watcher.Close()
}

// drain takes the errors of the watcher until it is closed. The watcher reports them
// under the lock that its own Add, Remove and Close take, so that they are taken by a
// goroutine that waits for nobody.
func (s *system) drain() {
	for range s.watcher.Errors { // whatever it is, changes were lost
		select {
		case s.lost <- struct{}{}:
		default:
		}
	}
}

// hear passes on what the system reports until its watcher is closed.
func (t *Tree) hear(s *system) {
	for {
		select {
		case event, ok := <-s.watcher.Events:
			if !ok {
				return
			}
			if !s.own.hears(event.Name) && t.pass(s, event) {
				return
			}
		case <-s.lost:
			t.Lose()
		}
	}
}

// pass notes a change for all whom it concerns. It reports whether the watcher is given
// up: when a watched folder goes, the system watches it further wherever it is, under
// its old name, with all below it.
func (t *Tree) pass(s *system, event fsnotify.Event) (over bool) {
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
		_ = s.close() // nothing of it is kept
	}
	return over
}

// replaceSystem puts a new watcher in the place of the one there is. Everybody has to add his
// folders anew. The tree is locked.
func (t *Tree) replaceSystem() {
	t.system = nil
	_ = t.begin() // without one everybody's next folder is refused
	for l := range t.listeners {
		clear(l.watched)
		l.lose()
	}
}

// Lose tells everybody that something was not heard, so that anything may have changed.
func (t *Tree) Lose() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for l := range t.listeners {
		l.lose()
	}
}

// full is the path of a name with slashes.
func (t *Tree) full(name string) string { return filepath.Join(t.dir, filepath.FromSlash(name)) }
