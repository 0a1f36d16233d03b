package watch

// A listener of a tree: the folders that it added, and what changed in them since the last
// Take.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// Change is what happened to an entry since the last Take. For a change of permissions alone no
// member is set.
type Change struct {
	Name                string // relative to the tree's folder, with slashes
	Made, Written, Gone bool
}

// Listener receives the changes in the folders that it added. It is safe for concurrent use.
type Listener struct {
	tree *Tree
	wake chan struct{}

	// Guarded by the tree's lock.
	watched map[string]bool // by name: true for folders, false for files
	changes map[string]Change
	lost    bool
}

// maxChanges bounds the number of changes that are stored until they are taken.
const maxChanges = 20_000

// ErrLink is returned for a folder that is a symlink, or is reached through one.
var ErrLink = errors.New("a link is not watched")

// Add watches the entries of a folder, and those of its parent folders, since a folder can
// disappear with its parents. It returns the FileInfo of the folder. The error is
// fs.ErrNotExist if there is no folder, ErrLink, or that of the system, which refuses too many
// watches.
func (l *Listener) Add(name string) (fs.FileInfo, error) {
	if name != "." && !l.has(name) {
		if _, err := l.Add(path.Dir(name)); err != nil {
			return nil, err
		}
	}
	st, err := os.Lstat(l.tree.full(name)) // watches are by path; resolving it through a root would walk it again each time
	switch {
	case err != nil:
		return nil, err
	case st.Mode()&fs.ModeSymlink != 0:
		return nil, ErrLink
	case !st.IsDir():
		return nil, fmt.Errorf("%s is no folder: %w", name, fs.ErrNotExist)
	}
	return st, l.add(name, true)
}

// AddFile watches one file.
func (l *Listener) AddFile(name string) error { return l.add(name, false) }

func (l *Listener) has(name string) bool {
	l.tree.mu.Lock()
	defer l.tree.mu.Unlock()
	_, has := l.watched[name]
	return has
}

func (l *Listener) add(name string, folder bool) error {
	for {
		l.tree.mu.Lock()
		s := l.tree.system
		if s != nil {
			l.watched[name] = folder // set before the watch begins, so that no change after that is missed
		}
		l.tree.mu.Unlock()
		if s == nil {
			return errors.ErrUnsupported
		}
		err := s.watcher.Add(l.tree.full(name))
		if errors.Is(err, fsnotify.ErrClosed) {
			continue // the watcher was replaced or closed
		}
		if err != nil {
			l.Forget(name)
		}
		return err
	}
}

// Forget stops watching a file or folder for this listener. The system still watches it if
// another listener wants it.
func (l *Listener) Forget(name string) {
	l.tree.mu.Lock()
	defer l.tree.mu.Unlock()
	delete(l.watched, name)
	for other := range l.tree.listeners {
		if _, wanted := other.watched[name]; wanted {
			return
		}
	}
	if s := l.tree.system; s != nil {
		_ = s.watcher.Remove(l.tree.full(name)) // the watch may have ended by itself
	}
}

// Changed returns a channel that receives a value when there is something to take.
func (l *Listener) Changed() <-chan struct{} { return l.wake }

// Take returns what changed since the last call, sorted by name. lost means that changes may be
// missing: anything may have changed, and every folder must be added again.
func (l *Listener) Take() (changes []Change, lost bool) {
	l.tree.mu.Lock()
	taken, lost := l.changes, l.lost
	l.changes, l.lost = map[string]Change{}, false
	l.tree.mu.Unlock()
	if lost {
		return nil, true
	}
	for _, c := range taken {
		changes = append(changes, c)
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return changes, false
}

// Await waits until every change made before the call can be taken, and reports whether that is
// so. It returns false if ctx ends first, if the tree has no watcher, or if the system is too
// slow.
func (l *Listener) Await(ctx context.Context) bool {
	t := l.tree
	t.barrierMu.Lock()
	defer t.barrierMu.Unlock()
	t.mu.Lock()
	s := t.system
	t.mu.Unlock()
	if s == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, t.barrierTimeout)
	defer cancel()
	return s.barrier.await(ctx, s.watcher.Add)
}

// Drain is Take of everything that changed before the call. lost is also set if it is not known
// whether that is everything.
func (l *Listener) Drain(ctx context.Context) (changes []Change, lost bool) {
	heard := l.Await(ctx)
	changes, lost = l.Take()
	return changes, lost || !heard
}

// Close ends the listener. What only this listener watched stays watched by the system until
// the tree is closed.
func (l *Listener) Close() {
	l.tree.mu.Lock()
	defer l.tree.mu.Unlock()
	delete(l.tree.listeners, l)
}

// note stores a change. The caller holds the tree's lock.
func (l *Listener) note(c Change) {
	if len(l.changes) >= maxChanges {
		l.markLost()
		return
	}
	was := l.changes[c.Name]
	l.changes[c.Name] = Change{c.Name, was.Made || c.Made, was.Written || c.Written, was.Gone || c.Gone}
	l.signal()
}

// markLost makes the next Take report that changes were lost. The caller holds the tree's lock.
func (l *Listener) markLost() {
	l.lost = true
	clear(l.changes)
	l.signal()
}

func (l *Listener) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
