package source

// A cache of what walks found in watched directories, so that the next walk reads only what
// changed. If a watch may have missed something, or is impossible, the whole tree is walked.

import (
	"context"
	"path"
	"sync"
	"time"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/watch"
	"ac/workspace"
)

// maxCacheAge is the age after which everything is walked again, watched or not.
const maxCacheAge = 30 * time.Second

// Cache caches what walks found. It belongs to the holder of the index's lock, except for Close.
// A nil cache caches nothing.
type Cache struct {
	clock *clock.Clock
	fsys  durable.FS

	mu            sync.Mutex
	watchListener *watch.Listener // nil until the second walk, after Close, or if nothing can be watched
	closed        bool

	walks int
	began time.Time // when the last full walk began

	names map[string][]string // the subfolders of a folder
	files map[string][]File   // the sources in a directory
}

// NewCache returns the cache of a process.
func NewCache(c *clock.Clock, fsys durable.FS) *Cache { return &Cache{clock: c, fsys: fsys} }

// Refresh drops what changed. It starts the watch at the second walk of a process, since the
// first walk may be the only one.
func (l *Cache) Refresh(ctx context.Context, w *workspace.Workspace) {
	if l == nil {
		return
	}
	l.walks++
	if l.walks == 2 {
		l.listen(w)
	}
	heard := l.listener()
	if heard == nil {
		l.names, l.files = nil, nil
		return
	}
	changes, lost := heard.Drain(ctx)
	if l.listener() == nil {
		lost = true // it was closed before everything was heard
	}
	if lost || l.clock.Since(l.began) > maxCacheAge {
		l.began, l.names, l.files = l.clock.Now(), map[string][]string{}, map[string][]File{}
		return
	}
	for _, change := range changes {
		l.forget(change.Name)
	}
}

func (l *Cache) listen(w *workspace.Workspace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.watchListener, _ = w.Watched().Listen() // without a listener nothing is cached
	}
}

func (l *Cache) listener() *watch.Listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watchListener
}

// forget drops an entry and its directory from the cache.
func (l *Cache) forget(name string) {
	for _, dir := range []string{name, path.Dir(name)} {
		delete(l.names, dir)
		delete(l.files, dir)
	}
}

// subfolders returns the cached subdirectories of a directory, sources its
// cached source files; ok is false if they must be read.
func (l *Cache) subfolders(dir string) (names []string, ok bool) {
	if l == nil {
		return nil, false
	}
	names, ok = l.names[dir]
	return names, ok
}

func (l *Cache) sources(dir string) (list []File, ok bool) {
	if l == nil {
		return nil, false
	}
	list, ok = l.files[dir]
	return list, ok
}

// startWatch reports whether what is found in a directory from now on may be cached. It may not on
// a file system of unknown type, where a change by another machine may raise no event.
func (l *Cache) startWatch(dir string) bool {
	if l == nil {
		return false
	}
	heard := l.listener()
	if heard == nil {
		return false
	}
	st, err := heard.Add(dir)
	return err == nil && l.fsys.Granularity(durable.IdentityOf(st).Device) < durable.Coarse
}

// Close ends the watch. It may be called while a walk is running. After it nothing is cached.
func (l *Cache) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watchListener != nil {
		l.watchListener.Close()
	}
	l.watchListener, l.closed = nil, true
}
