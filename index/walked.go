package index

// What walks saw in folders that are watched since: the next walk looks again only
// where something changed. Anything that was not heard, or that nobody can hear,
// makes it look at everything.

import (
	"context"
	"path"
	"time"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/watch"
	"ac/workspace"
)

// walkedLife is after what time everything is looked at again, whatever was heard.
const walkedLife = 30 * time.Second

// walked is what walks saw. It belongs to the holder of the index's lock. The zero
// value remembers nothing; so does nil.
type walked struct {
	clock *clock.Clock
	fsys  durable.FS
	heard *watch.Listener // nil until a second walk, and where nothing can be watched
	walks int
	began time.Time // when everything was last looked at

	names map[string][]string // the subfolders of a folder
	files map[string][]source // the sources that lie in a folder
}

// refresh forgets what changed. The second walk of a process begins to watch: the
// first one may be its only one.
func (l *walked) refresh(ctx context.Context, w *workspace.Workspace) {
	if l == nil {
		return
	}
	l.walks++
	if l.walks == 2 {
		l.heard, _ = w.Watched().Listen() // without it nothing is remembered
	}
	if l.heard == nil {
		return
	}
	changes, lost := l.heard.Drain(ctx)
	if lost || l.clock.Since(l.began) > walkedLife {
		l.began, l.names, l.files = l.clock.Now(), map[string][]string{}, map[string][]source{}
		return
	}
	for _, change := range changes {
		l.forget(change.Name)
	}
}

// forget drops what is known of an entry and of the folder that it lies in.
func (l *walked) forget(name string) {
	for _, dir := range []string{name, path.Dir(name)} {
		delete(l.names, dir)
		delete(l.files, dir)
	}
}

// subfolders are those that a folder had, sources the sources that lay in it; not ok
// where they have to be looked for.
func (l *walked) subfolders(dir string) (names []string, ok bool) {
	if l == nil {
		return nil, false
	}
	names, ok = l.names[dir]
	return names, ok
}

func (l *walked) sources(dir string) (list []source, ok bool) {
	if l == nil {
		return nil, false
	}
	list, ok = l.files[dir]
	return list, ok
}

// watched reports whether what is seen in a folder from now on may be remembered.
// Others may write to a file system that is not known, without a sound.
func (l *walked) watched(dir string) bool {
	if l == nil || l.heard == nil {
		return false
	}
	st, err := l.heard.Add(dir)
	return err == nil && l.fsys.Tick(durable.IdentityOf(st).Device) < durable.Coarse
}

func (l *walked) close() {
	if l != nil && l.heard != nil {
		l.heard.Close()
	}
}
