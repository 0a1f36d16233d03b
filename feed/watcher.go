package feed

// Noticing that logs grew: by the system's file events where they work, by
// looking where they don't.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"ac/events"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// lookEvery is how often logs are looked at that cannot be watched.
const lookEvery = time.Second

// logKey names a log within a workspace.
type logKey struct{ project, run string }

func (k logKey) file() string { return workspace.LogFile(k.project, k.run) }

// watcher follows the logs of one workspace for the subscriptions attached to
// it, or, with none, for the one who is told of growth. Its maps are guarded by
// the hub's lock.
type watcher struct {
	hub    *Hub
	ws     *workspace.Workspace
	ctx    context.Context //nolint:containedctx // of its goroutine
	cancel context.CancelFunc
	subs   map[*subscription]struct{}
	sizes  map[logKey]int64 // what was seen last, where logs are looked at

	notify  *fsnotify.Watcher // nil where files cannot be watched
	looking bool              // some log is not watched
	whole   bool              // every run is watched, not only those that may grow
	wake    chan struct{}     // tells run that looking has begun
}

func newWatcher(h *Hub, ws *workspace.Workspace) *watcher {
	ctx, cancel := context.WithCancel(h.ctx)
	w := &watcher{hub: h, ws: ws, ctx: ctx, cancel: cancel, subs: map[*subscription]struct{}{}, sizes: map[logKey]int64{}, wake: make(chan struct{}, 1)}
	if runtime.GOOS != "darwin" {
		w.notify, _ = fsnotify.NewBufferedWatcher(1024) // nil on failure
	}
	if w.notify == nil {
		w.look()
	}
	return w
}

// look begins to look at the logs, since not all of them can be watched; the
// hub is locked.
func (w *watcher) look() {
	w.looking = true
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// scan finds the projects and runs that are there and not known yet; the hub is
// locked.
func (w *watcher) scan() {
	if w.looking {
		w.look() // it rests while nobody listens
	}
	w.whole = true
	w.add(workspace.ProjectsDir)
	for _, project := range w.dirs(workspace.ProjectsDir) {
		w.add(workspace.ProjectDir(project))
		w.add(workspace.RunsDir(project))
		for _, run := range w.dirs(workspace.RunsDir(project)) {
			key := logKey{project, run}
			if _, known := w.sizes[key]; !known {
				w.add(workspace.RunDir(project, run))
				w.sizes[key] = unseen
			}
		}
	}
}

// scanLive watches the places where runs come to be and the runs that have a
// session: without a listener that is enough, and costs the system little.
func (w *watcher) scanLive() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.whole || w.notify == nil {
		return
	}
	w.add(workspace.ProjectsDir)
	for _, project := range w.dirs(workspace.ProjectsDir) {
		w.add(workspace.ProjectDir(project))
		w.add(workspace.RunsDir(project))
	}
	w.add(workspace.SessionsDir)
	w.addLive()
}

// addLive watches the runs that have a session; the hub is locked.
func (w *watcher) addLive() {
	records, err := session.All(w.ws)
	if err != nil {
		return
	}
	for _, r := range records {
		if !doc.Terminal(r.Status) {
			w.add(workspace.RunDir(r.ProjectID, r.RunID))
		}
	}
}

// unseen is the size of a log that was never looked at.
const unseen = -1

func (w *watcher) stop() { w.cancel() }

// add watches one directory of the workspace. What leads out of it is not
// watched.
func (w *watcher) add(dir string) {
	if w.notify == nil {
		return
	}
	name := filepath.Join(w.ws.Dir(), filepath.FromSlash(dir))
	st, err := os.Lstat(name) // watches go by path; the root would walk it anew for each
	switch {
	case err != nil:
		return
	case st.Mode()&fs.ModeSymlink != 0:
		w.look() // it may lead to somewhere else at any time
		return
	case !st.IsDir():
		return
	}
	if err := w.notify.Add(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.look()
	}
}

func (w *watcher) dirs(dir string) []string {
	names, err := workspace.Dirs(w.ws.FS, dir)
	if err != nil {
		return nil
	}
	return names
}

// size is how long a log is now, 0 when there is none.
func (w *watcher) size(key logKey) int64 {
	st, err := w.ws.FS.Stat(key.file())
	if err != nil || !st.Mode().IsRegular() {
		return 0
	}
	return st.Size()
}

// run serves until the watcher is stopped.
func (w *watcher) run() {
	var changes <-chan fsnotify.Event
	var faults <-chan error
	if w.notify != nil {
		defer w.notify.Close()
		changes, faults = w.notify.Events, w.notify.Errors
	}
	var ticker *time.Ticker
	var look <-chan time.Time
	w.scanLive()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.wake:
			if ticker == nil && w.listened() {
				ticker = time.NewTicker(lookEvery)
				look = ticker.C
			}
		case change := <-changes:
			w.changed(change)
		case <-faults: //nolint:errcheck // whatever it is, changes were lost
			w.lost()
		case <-look:
			if !w.listened() {
				ticker.Stop()
				ticker, look = nil, nil
				continue
			}
			w.lookAtAll()
		}
	}
}

// listened reports whether some subscription is attached.
func (w *watcher) listened() bool {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	return len(w.subs) > 0
}

// changed sorts one event of the system.
func (w *watcher) changed(change fsnotify.Event) {
	rel, err := filepath.Rel(w.ws.Dir(), change.Name)
	if err != nil {
		return
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if len(parts) == 2 && (change.Has(fsnotify.Remove) || change.Has(fsnotify.Rename)) {
		w.gone()
	}
	if len(parts) < 3 || strings.HasPrefix(parts[len(parts)-1], ".") {
		return
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	created := change.Has(fsnotify.Create)
	switch {
	case len(parts) == 6 && parts[5] == events.FileName:
		w.touched(path.Join(parts...))
	case len(parts) == 5 && created && parts[3] == "runs":
		w.newRun(logKey{parts[2], parts[4]})
	case parts[0] == ".local":
		if created && !w.whole {
			w.addLive()
		}
	case created && (len(parts) == 3 || (len(parts) == 4 && parts[3] == "runs")):
		w.newProject(parts[2])
	}
}

func (w *watcher) newProject(project string) {
	w.add(workspace.ProjectDir(project))
	w.add(workspace.RunsDir(project))
	for _, run := range w.dirs(workspace.RunsDir(project)) {
		w.newRun(logKey{project, run})
	}
}

func (w *watcher) newRun(key logKey) {
	w.add(workspace.RunDir(key.project, key.run))
	if !w.whole {
		w.add(workspace.SessionsDir) // made with the first session
	}
	w.touched(key.file())
}

// touched marks a log for every subscription; the hub is locked.
func (w *watcher) touched(log string) {
	project, run, ok := workspace.LogRun(log)
	if !ok {
		return
	}
	key := logKey{project, run}
	if _, known := w.sizes[key]; !known {
		w.add(workspace.RunDir(project, run))
		w.sizes[key] = unseen
	}
	if w.hub.grown != nil {
		w.hub.grown(w.ws.Dir())
	}
	for s := range w.subs {
		s.mark(w.ws, key)
	}
}

// gone notes that the directory of the projects is another one from now on.
func (w *watcher) gone() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.look()
}

// lost makes up for events of the system that were lost: every directory is
// watched, every log read.
func (w *watcher) lost() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.add(workspace.ProjectsDir)
	for _, project := range w.dirs(workspace.ProjectsDir) {
		w.newProject(project)
	}
}

// lookAtAll finds the logs that grew or are new.
func (w *watcher) lookAtAll() {
	for _, project := range w.dirs(workspace.ProjectsDir) {
		for _, run := range w.dirs(workspace.RunsDir(project)) {
			key := logKey{project, run}
			size := w.size(key)
			w.hub.mu.Lock()
			if seen, ok := w.sizes[key]; !ok || seen != size {
				w.sizes[key] = size
				w.touched(key.file())
			}
			w.hub.mu.Unlock()
		}
	}
}
