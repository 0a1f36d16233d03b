package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Tree remembers what changed in folders of one folder. It is safe for concurrent
// use; Add and Drain are for one at a time.
type Tree struct {
	dir     string
	folders map[string]struct{} // that are watched, by their full names; of the caller's side
	heard   *listener

	mu      sync.Mutex
	changed map[string]bool // by full name, true where something of that name went
	lost    bool            // something changed, whatever
}

// listener is one watcher of the system.
type listener struct {
	watcher *fsnotify.Watcher
	own     Mark
	ended   chan struct{} // closed when nothing is heard any more
}

// maxChanged bounds what is remembered when nobody asks for it.
const maxChanged = 20_000

// NewTree watches nothing yet. The error is errors.ErrUnsupported on systems that
// would open every file of a folder to watch it.
func NewTree(dir string) (*Tree, error) {
	if runtime.GOOS == "darwin" {
		return nil, errors.ErrUnsupported
	}
	t := &Tree{dir: dir}
	return t, t.begin()
}

// begin forgets everything and listens anew.
func (t *Tree) begin() error {
	watcher, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return err
	}
	n := &listener{watcher: watcher, ended: make(chan struct{})}
	t.folders, t.heard = map[string]struct{}{}, n
	t.mu.Lock()
	t.changed, t.lost = map[string]bool{}, false
	t.mu.Unlock()
	go t.hear(n) // until it is closed, which waits for it
	return nil
}

// Add watches the entries of a folder, by its name with slashes, and of those above,
// which may go with it. It returns what the folder is now, and reports whether it
// works: not for what is no folder, or a link.
func (t *Tree) Add(name string) (st fs.FileInfo, ok bool) {
	if _, known := t.folders[t.full(name)]; !known && name != "." {
		if _, ok := t.Add(path.Dir(name)); !ok {
			return nil, false
		}
	}
	full := t.full(name)
	st, err := os.Lstat(full)
	if err != nil || !st.IsDir() || t.heard == nil || t.heard.watcher.Add(full) != nil {
		return st, false
	}
	t.folders[full] = struct{}{}
	return st, true
}

func (t *Tree) full(name string) string { return filepath.Join(t.dir, filepath.FromSlash(name)) }

// Drain returns the entries that changed since the last call, up to the moment of
// this one, by their names with slashes. whole: anything may have changed, since
// something was not heard, and no folder is watched any more.
func (t *Tree) Drain(ctx context.Context) (changed []string, whole bool) {
	if t.heard == nil {
		return nil, true
	}
	heard := t.heard.own.Await(ctx, t.heard.watcher.Add)
	t.mu.Lock()
	names, lost := t.changed, t.lost
	t.changed, t.lost = map[string]bool{}, false
	t.mu.Unlock()
	if lost || !heard || t.moved(names) {
		_ = t.Close() // nothing of it is kept
		if t.begin() != nil {
			t.heard = nil
		}
		return nil, true
	}
	for full := range names {
		if name, err := filepath.Rel(t.dir, full); err == nil {
			changed = append(changed, filepath.ToSlash(name))
		}
	}
	slices.Sort(changed)
	return changed, false
}

// moved reports whether a watched folder is another one now. The system goes on to
// watch the old one, wherever that is, under its old name.
func (t *Tree) moved(names map[string]bool) bool {
	for name, went := range names {
		if _, watched := t.folders[name]; watched && went {
			return true
		}
	}
	return false
}

// Close ends the watch.
func (t *Tree) Close() error {
	if t.heard == nil {
		return nil
	}
	t.heard.own.Close()
	err := t.heard.watcher.Close()
	<-t.heard.ended
	return err
}

func (t *Tree) hear(n *listener) {
	defer close(n.ended)
	for {
		select {
		case change, ok := <-n.watcher.Events:
			if !ok {
				return
			}
			if !n.own.Hears(change.Name) {
				t.note(change.Name, change.Has(fsnotify.Remove) || change.Has(fsnotify.Rename))
			}
		case _, ok := <-n.watcher.Errors: // whatever it is, changes were lost
			if !ok {
				return
			}
			t.Lose()
		}
	}
}

// Lose makes the next Drain one after which anything may have changed.
func (t *Tree) Lose() { t.note("", true) }

// note remembers the change of a full name, "" for any.
func (t *Tree) note(full string, went bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if full == "" || len(t.changed) >= maxChanged {
		t.lost = true
		clear(t.changed)
		return
	}
	t.changed[full] = t.changed[full] || went
}
