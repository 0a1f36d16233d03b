package feed

// Detecting changes of documents by any program. The operating system's file events are used
// where they work, polling elsewhere.

import (
	"context"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ac/internal/watch"
	"ac/workspace"
)

// allSubfolders is a suffix that stands for all subfolders of a folder.
const allSubfolders = "/*"

// WatchDocuments reports changes of the files in some folders of a workspace, until stop is called.
// stop waits for the watcher's goroutine. Folders need not exist yet. A name that ends in "/*"
// stands for all subfolders of that folder, including later ones. changed must not block. Calls may
// be spurious, and one call may stand for any number of changes.
func WatchDocuments(w *workspace.Workspace, folders []string, changed func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &documents{ws: w, folders: folders, changed: changed}
	d.listener, _ = w.Watched().Listen() // nil: fall back to polling
	if d.listener != nil && !d.watch() {
		d.listener.Close()
		d.listener = nil
	}
	seen := d.state()
	var wg sync.WaitGroup
	wg.Go(func() {
		if d.listener != nil {
			d.follow(ctx)
		} else {
			d.poll(ctx, seen)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// documents is one watch of folders.
type documents struct {
	ws       *workspace.Workspace
	folders  []string
	changed  func()
	listener *watch.Listener // nil if folders cannot be watched
}

func (d *documents) name(folder string) string {
	return filepath.Join(d.ws.Dir(), filepath.FromSlash(folder))
}

// places returns the current folders. The parent of a "/*" precedes its subfolders.
func (d *documents) places() (all []string) {
	for _, folder := range d.folders {
		above, isEach := strings.CutSuffix(folder, allSubfolders)
		all = append(all, above)
		if !isEach {
			continue
		}
		entries, _ := os.ReadDir(d.name(above)) // a missing folder has no entries
		for _, entry := range entries {
			if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
				all = append(all, path.Join(above, entry.Name()))
			}
		}
	}
	return all
}

// watch watches every folder and its parents. It reports whether the system could watch all of
// them. A folder created before its parent is watched causes no event, so watch lists the folders
// again until there are no new ones.
func (d *documents) watch() bool {
	for places := d.places(); ; {
		for _, folder := range places {
			if _, err := d.listener.Add(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false // the target of a link may change at any time
			}
		}
		now := d.places()
		if slices.Equal(places, now) {
			return true
		}
		places = now
	}
}

// follow handles file events until ctx is done.
func (d *documents) follow(ctx context.Context) {
	defer d.listener.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.listener.Changed():
			d.handleEvents()
		}
	}
}

// handleEvents reports changes of files in a folder, and rewatches when folders are created or removed.
func (d *documents) handleEvents() {
	changes, lost := d.listener.Take()
	anew, concerned := lost, lost
	for _, change := range changes {
		ways, own := d.concerns(change)
		anew, concerned = anew || ways, concerned || ways || own
	}
	if anew {
		d.watch()
	}
	if concerned {
		d.changed()
	}
}

// concerns reports whether a change created or removed a folder or one of its parents, and whether
// it concerns a file in a folder.
func (d *documents) concerns(change watch.Change) (ways, file bool) {
	if base := path.Base(change.Name); strings.HasPrefix(base, ".") && change.Name != workspace.LocalDir {
		return false, false
	}
	onTheWay := func(folder string) bool { return folder == change.Name || strings.HasPrefix(folder, change.Name+"/") }
	above := path.Dir(change.Name)
	if slices.ContainsFunc(d.folders, onTheWay) || slices.Contains(d.folders, above+allSubfolders) {
		return change.Made || change.Gone, false
	}
	return false, (change.Made || change.Written || change.Gone) &&
		(slices.Contains(d.folders, above) || slices.Contains(d.folders, path.Dir(above)+allSubfolders))
}

// poll polls until ctx is done.
func (d *documents) poll(ctx context.Context, seen uint64) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if state := d.state(); state != seen {
			seen = state
			d.changed()
		}
	}
}

// state returns a hash of the names, sizes and times of the files.
func (d *documents) state() uint64 {
	if d.listener != nil {
		return 0 // only polling compares it
	}
	sum := fnv.New64a()
	for _, folder := range d.places() {
		entries, _ := os.ReadDir(d.name(folder)) // a missing folder has no entries
		for _, entry := range entries {
			if st, err := entry.Info(); err == nil && !strings.HasPrefix(entry.Name(), ".") {
				_, _ = sum.Write([]byte(folder + "/" + entry.Name() + "\x00" + st.ModTime().String() + "\x00" + st.Mode().String() + "\x00")) // never fails
				_, _ = sum.Write([]byte{byte(st.Size()), byte(st.Size() >> 8), byte(st.Size() >> 16), byte(st.Size() >> 24)})
			}
		}
	}
	return sum.Sum64()
}
