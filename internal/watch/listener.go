package watch

// One who listens to a tree: the folders that concern him, and what changed in them
// since he asked last.

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

// Change is what happened to an entry since the last look. A change of its permissions
// alone has no member set.
type Change struct {
	Name                string // from the tree's folder on, with slashes
	Made, Written, Gone bool
}

// Listener hears of changes of the folders that it added. It is safe for concurrent use.
type Listener struct {
	tree *Tree
	wake chan struct{}

	// Under the tree's lock.
	watched map[string]bool // by name: true for folders, false for files
	changes map[string]Change
	lost    bool
}

// maxChanges bounds what is remembered while nobody asks for it.
const maxChanges = 20_000

// ErrLink is returned for a folder that is a link, or lies behind one.
var ErrLink = errors.New("a link is not watched")

// Add listens to the entries of a folder, and to those of the folders above it, which
// may go with it. It returns what the folder is now. The error is fs.ErrNotExist where
// no folder is, ErrLink, or that of the system, which refuses what is one too many.
func (l *Listener) Add(name string) (fs.FileInfo, error) {
	if name != "." && !l.has(name) {
		if _, err := l.Add(path.Dir(name)); err != nil {
			return nil, err
		}
	}
	st, err := os.Lstat(l.tree.full(name)) // watches go by path; a root would walk it anew for each
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

// AddFile listens to one file.
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
			l.watched[name] = folder // before it is watched: what happens then is heard
		}
		l.tree.mu.Unlock()
		if s == nil {
			return errors.ErrUnsupported
		}
		err := s.watcher.Add(l.tree.full(name))
		if errors.Is(err, fsnotify.ErrClosed) {
			continue // there is another watcher now, or none
		}
		if err != nil {
			l.Forget(name)
		}
		return err
	}
}

// Forget ends the listening to a file or folder. The system may go on to watch it for
// others.
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
		_ = s.watcher.Remove(l.tree.full(name)) // it may have gone by itself
	}
}

// Changed is sent to when there is something to take.
func (l *Listener) Changed() <-chan struct{} { return l.wake }

// Take returns what changed since the last call, by name. lost: something was not heard,
// so that anything may have changed, and every folder has to be added again.
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

// Await returns once everything that was changed before the call can be taken, and
// reports whether that is so: not when ctx ends first, or when the system is too slow.
func (l *Listener) Await(ctx context.Context) bool {
	t := l.tree
	t.awaiting.Lock()
	defer t.awaiting.Unlock()
	t.mu.Lock()
	s := t.system
	t.mu.Unlock()
	if s == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	return s.own.await(ctx, s.watcher.Add)
}

// Drain is Take of everything up to the moment of the call; lost also where it is not
// known whether that is all.
func (l *Listener) Drain(ctx context.Context) (changes []Change, lost bool) {
	heard := l.Await(ctx)
	changes, lost = l.Take()
	return changes, lost || !heard
}

// Close ends the listening. What the system watches for this listener alone it watches
// until the tree is closed.
func (l *Listener) Close() {
	l.tree.mu.Lock()
	defer l.tree.mu.Unlock()
	delete(l.tree.listeners, l)
}

// note remembers a change; the tree is locked.
func (l *Listener) note(c Change) {
	if len(l.changes) >= maxChanges {
		l.lose()
		return
	}
	was := l.changes[c.Name]
	l.changes[c.Name] = Change{c.Name, was.Made || c.Made, was.Written || c.Written, was.Gone || c.Gone}
	l.signal()
}

// lose makes the next Take one after which anything may have changed; the tree is locked.
func (l *Listener) lose() {
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
