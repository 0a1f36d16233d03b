package feed

// Detecting growth of logs: by the operating system's file events where they work, by polling
// elsewhere.

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/watch"
	"ac/workspace"
)

// lookEvery is the polling interval for logs that cannot be watched.
const lookEvery = time.Second

// logKey names a log within a workspace.
type logKey struct{ project, run string }

func (k logKey) file() string { return workspace.LogFile(k.project, k.run) }

// front is the known end of a log, as of the last check.
type front struct {
	id       durable.Identity // of its file; zero if there is none
	size     int64            // unseen if it could not be read
	modified int64            // nanoseconds
}

// cursor returns the cursor of a subscription that begins there.
func (f front) cursor() *cursor {
	switch {
	case f.size == unseen:
		return &cursor{seq: -1} // its end is wherever it can first be read
	case f.id == durable.Identity{}:
		return &cursor{}
	}
	return &cursor{id: f.id, offset: f.size, seq: -1}
}

// watcher follows the logs of one workspace for its subscriptions, or, if there are none, for the
// growth callback. A subscription has cursors for the logs that grew since it began. For all other
// logs the fronts serve.
type watcher struct {
	hub    *Hub
	ws     *workspace.Workspace
	ctx    context.Context //nolint:containedctx // of its goroutine
	cancel context.CancelFunc

	scanning sync.Mutex      // held while scanning all logs
	handling sync.Mutex      // held while handling changes
	listener *watch.Listener // nil if files cannot be watched
	wake     chan struct{}   // notifies run that polling has begun

	mu       sync.Mutex
	subs     map[*subscription]struct{}
	fronts   map[logKey]front
	streams  map[logKey]*stream
	recent   []logKey // keys of streams, oldest first
	polling  bool     // polling, because some log is not watched
	allKnown bool     // all logs are known
}

func newWatcher(h *Hub, ws *workspace.Workspace) *watcher {
	ctx, cancel := context.WithCancel(h.ctx)
	w := &watcher{
		hub: h, ws: ws, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1),
		subs: map[*subscription]struct{}{}, fronts: map[logKey]front{}, streams: map[logKey]*stream{},
	}
	if heard, err := ws.Watched().Listen(); err == nil {
		w.listener = heard
	} else {
		w.startPolling()
	}
	return w
}

// startPolling starts polling, because some logs cannot be watched.
func (w *watcher) startPolling() {
	w.mu.Lock()
	w.polling = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// ready updates the fronts of all logs for a new subscription. If all logs are watched, it only
// waits for pending file events. Otherwise it checks all logs.
func (w *watcher) ready(ctx context.Context) {
	w.scanning.Lock()
	defer w.scanning.Unlock()
	if w.scanned() && w.listener != nil {
		ctx, cancel := context.WithCancel(ctx)
		defer context.AfterFunc(w.ctx, cancel)()
		defer cancel()
		if w.listener.Await(ctx) {
			w.handleEvents()
			return
		}
	}
	w.scan()
}

// scanned reports whether all logs are scanned and watched.
func (w *watcher) scanned() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.allKnown && !w.polling
}

// begin scans all logs before the first subscription, so that a subscription does not wait for the
// scan.
func (w *watcher) begin() {
	w.scanning.Lock()
	defer w.scanning.Unlock()
	if w.listener != nil && !w.scanned() {
		w.scan()
	}
}

// scan watches all projects and runs, and checks every log.
func (w *watcher) scan() {
	w.mu.Lock()
	looking := w.polling
	w.mu.Unlock()
	if looking {
		w.startPolling() // polling pauses while there are no subscriptions
	}
	w.each(func(key logKey, known bool) {
		if !known {
			w.add(workspace.RunDir(key.project, key.run))
		}
		w.mark(key, false)
	})
	w.mu.Lock()
	w.allKnown = true
	w.mu.Unlock()
}

// each visits all runs, and watches the folders in which new runs appear.
func (w *watcher) each(visit func(key logKey, known bool)) {
	w.add(workspace.ProjectsDir)
	for _, project := range w.dirs(workspace.ProjectsDir) {
		w.add(workspace.ProjectDir(project))
		w.add(workspace.RunsDir(project))
		for _, run := range w.dirs(workspace.RunsDir(project)) {
			if w.ctx.Err() != nil {
				return
			}
			key := logKey{project, run}
			w.mu.Lock()
			_, known := w.fronts[key]
			w.mu.Unlock()
			visit(key, known)
		}
	}
}

// unseen is the size of a log that could not be read.
const unseen = -1

func (w *watcher) stop() { w.cancel() }

// add watches one directory of the workspace. Directories that lead outside the workspace are not
// watched.
func (w *watcher) add(dir string) {
	if w.listener == nil {
		return
	}
	if _, err := w.listener.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.startPolling() // the target of a link may change at any time
	}
}

func (w *watcher) dirs(dir string) []string {
	names, err := workspace.Dirs(w.ws.FS, dir)
	if err != nil {
		return nil
	}
	return names
}

// frontOf checks a log. It uses the path, which costs a seventh of an access through the root.
// Later reads go through the root, and detect a different file there.
func (w *watcher) frontOf(key logKey) front {
	st, err := os.Lstat(filepath.Join(w.ws.Dir(), filepath.FromSlash(key.file())))
	if err != nil || !st.Mode().IsRegular() {
		st, err = w.ws.FS.Stat(key.file())
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return front{}
	case err != nil || !st.Mode().IsRegular():
		return front{size: unseen}
	}
	return front{durable.IdentityOf(st), st.Size(), st.ModTime().UnixNano()}
}

// run serves until the watcher is stopped.
func (w *watcher) run() {
	var changed <-chan struct{}
	if w.listener != nil {
		defer w.listener.Close()
		changed = w.listener.Changed()
	}
	var ticker *time.Ticker
	var look <-chan time.Time
	w.begin()
	var changes batcher
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.wake:
			if ticker == nil && w.hasSubscriptions() {
				ticker = time.NewTicker(lookEvery)
				look = ticker.C
			}
		case <-changed:
			w.pause(changes.wait())
			n, run := w.handleEvents()
			changes.observe(w.hub.clock.Now(), n, run)
		case <-look:
			if !w.hasSubscriptions() {
				ticker.Stop()
				ticker, look = nil, nil
				continue
			}
			w.checkAll()
		}
	}
}

// handleEvents handles the pending changes. It returns how many there were, and the folder of the last
// change's run, "" for none.
func (w *watcher) handleEvents() (n int, run string) {
	w.handling.Lock()
	defer w.handling.Unlock()
	changes, lost := w.listener.Take()
	if lost {
		w.rescan()
	}
	for _, change := range changes {
		w.changed(change)
		if parts := strings.SplitN(change.Name, "/", 6); len(parts) >= 5 {
			run = path.Join(parts[:5]...)
		}
	}
	return len(changes), run
}

// hasSubscriptions reports whether a subscription is attached.
func (w *watcher) hasSubscriptions() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.subs) > 0
}

// changed handles one change.
func (w *watcher) changed(change watch.Change) {
	if _, below := strings.CutPrefix(workspace.ProjectsDir+"/", change.Name+"/"); change.Made && below {
		w.rescan() // everything in it appeared with it
		return
	}
	parts := strings.Split(change.Name, "/")
	if len(parts) < 3 || strings.HasPrefix(parts[len(parts)-1], ".") {
		return
	}
	switch {
	case len(parts) == 6 && parts[5] == events.FileName:
		w.logGrew(change.Name)
	case len(parts) == 5 && change.Made && parts[3] == "runs":
		w.newRun(logKey{parts[2], parts[4]})
	case change.Made && (len(parts) == 3 || (len(parts) == 4 && parts[3] == "runs")):
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
	w.logGrew(key.file())
}

// logGrew handles a log that may have grown. A log that was not known is new.
func (w *watcher) logGrew(log string) {
	project, run, ok := workspace.LogRun(log)
	if !ok {
		return
	}
	key := logKey{project, run}
	w.mu.Lock()
	_, known := w.fronts[key]
	w.mu.Unlock()
	if !known {
		w.add(workspace.RunDir(project, run))
	}
	if w.hub.grown != nil {
		w.hub.grown(w.ws.Dir())
	}
	w.mark(key, true)
}

// mark checks a log and marks it for the subscriptions if it changed. A subscription that has not
// read it yet starts at the position of the previous check, or at the start if the log is new.
// During the first scan no log counts as new.
func (w *watcher) mark(key logKey, newer bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.fronts[key]
	now := w.frontOf(key)
	w.fronts[key] = now
	if known && before == now && now.size != unseen || !known && !newer && !w.allKnown {
		return
	}
	if st := w.streams[key]; st != nil {
		st.markStale()
	}
	for s := range w.subs {
		s.mark(w.ws, key, before)
	}
}

// streamOf returns the buffered lines of a log.
func (w *watcher) streamOf(key logKey) *stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	if st := w.streams[key]; st != nil {
		return st
	}
	if len(w.recent) >= keptStreams {
		delete(w.streams, w.recent[0])
		w.recent = w.recent[1:]
	}
	st := &stream{}
	if len(w.subs) > 0 { // the last subscription may have ended while it read
		w.streams[key] = st
		w.recent = append(w.recent, key)
	}
	return st
}

// at returns the position at which a subscription that has read nothing of the log starts.
func (w *watcher) at(key logKey) *cursor {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fronts[key].cursor()
}

// attach adds a subscription to the watcher. The caller has called ready.
func (w *watcher) attach(s *subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, attached := w.subs[s]; attached {
		return
	}
	w.subs[s] = struct{}{}
	s.listen(w)
	if w.polling { // polling may have paused for lack of subscriptions
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// subscriptions returns the attached subscriptions.
func (w *watcher) subscriptions() []*subscription {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.subs))
}

// detach removes a subscription and reports whether none is left. It then drops all buffered lines.
func (w *watcher) detach(s *subscription) (alone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.subs, s)
	if alone = len(w.subs) == 0; alone {
		clear(w.streams)
		w.recent = nil
	}
	return alone
}

// keys lists the known logs.
func (w *watcher) keys(wanted func(logKey) bool) (keys []logKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.fronts {
		if wanted(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// rescan recovers from missed file events: it watches everything again, and checks which logs grew or
// are new.
func (w *watcher) rescan() {
	w.each(func(key logKey, known bool) {
		w.add(workspace.RunDir(key.project, key.run))
		w.checkLog(key, known)
	})
}

// checkAll checks all logs and handles those that grew or are new.
func (w *watcher) checkAll() { w.each(w.checkLog) }

func (w *watcher) checkLog(key logKey, known bool) {
	w.mu.Lock()
	before := w.fronts[key]
	w.mu.Unlock()
	if now := w.frontOf(key); !known || now != before {
		w.logGrew(key.file())
	}
}
