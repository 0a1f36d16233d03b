package feed

// Noticing that documents changed, by whomever: folders of a workspace are
// watched by the system where that works, and looked at where it doesn't.

import (
	"context"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"ac/workspace"
)

// each is the end of a name that stands for all folders in a folder.
const each = "/*"

// WatchDocuments tells of changes of the files that lie in some folders of a
// workspace, until stop is called, which waits for what it runs. Folders need
// not be there yet; a name that ends in "/*" stands for all folders in that one, as
// they come and go. changed must not block; it may be told too often, and one
// call stands for any number of changes.
func WatchDocuments(w *workspace.Workspace, folders []string, changed func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &documents{ws: w, folders: folders, changed: changed}
	if runtime.GOOS != "darwin" { // which opens each file to watch a folder
		d.notify, _ = fsnotify.NewBufferedWatcher(1024) // nil on failure
	}
	if d.notify != nil && !d.watch() {
		_ = d.notify.Close() // it failed already
		d.notify = nil
	}
	seen := d.state()
	var wg sync.WaitGroup
	wg.Go(func() {
		if d.notify != nil {
			d.follow(ctx)
		} else {
			d.look(ctx, seen)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// documents is one watch of folders.
type documents struct {
	ws      *workspace.Workspace
	folders []string
	changed func()
	notify  *fsnotify.Watcher // nil where folders cannot be watched
}

func (d *documents) name(folder string) string {
	return filepath.Join(d.ws.Dir(), filepath.FromSlash(folder))
}

// places are the folders as they are now, with those that stand for others before
// them.
func (d *documents) places() (all []string) {
	for _, folder := range d.folders {
		above, isEach := strings.CutSuffix(folder, each)
		all = append(all, above)
		if !isEach {
			continue
		}
		entries, _ := os.ReadDir(d.name(above)) // a folder that is not there has none
		for _, entry := range entries {
			if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
				all = append(all, path.Join(above, entry.Name()))
			}
		}
	}
	return all
}

// watch watches every folder, or what of the way to it is there. It reports
// whether the system took all of that. A folder that comes while its parent is not yet
// watched comes without a notice: folders are listed again until there are no others.
func (d *documents) watch() bool {
	for places := d.places(); ; {
		if !d.watchEach(places) {
			return false
		}
		now := d.places()
		if slices.Equal(places, now) {
			return true
		}
		places = now
	}
}

func (d *documents) watchEach(places []string) bool {
	for _, folder := range places {
		for at := folder; ; at = path.Dir(at) {
			st, err := os.Lstat(d.name(at)) // watches go by path
			if err == nil && st.Mode()&fs.ModeSymlink != 0 {
				return false // it may lead to somewhere else at any time
			}
			if err == nil && st.IsDir() {
				if err := d.notify.Add(d.name(at)); err != nil {
					return false
				}
				break
			}
			if at == "." {
				break // the workspace is gone
			}
		}
	}
	return true
}

// follow serves what the system tells.
func (d *documents) follow(ctx context.Context) {
	defer d.notify.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case change := <-d.notify.Events:
			d.sort(change)
		case <-d.notify.Errors: //nolint:errcheck // some were lost, whichever
			d.watch()
			d.changed()
		}
	}
}

// sort tells of a change of a file in a folder, and follows folders that come
// and go.
func (d *documents) sort(change fsnotify.Event) {
	rel, err := filepath.Rel(d.ws.Dir(), change.Name)
	if err != nil || change.Op == fsnotify.Chmod || strings.HasPrefix(filepath.Base(rel), ".") && rel != workspace.LocalDir {
		return
	}
	rel = filepath.ToSlash(rel)
	above := path.Dir(rel)
	onTheWay := func(folder string) bool { return folder == rel || strings.HasPrefix(folder, rel+"/") }
	switch {
	case slices.ContainsFunc(d.folders, onTheWay) || slices.Contains(d.folders, above+each):
		if change.Has(fsnotify.Create) || change.Has(fsnotify.Remove) || change.Has(fsnotify.Rename) {
			d.watch()
			d.changed()
		}
	case slices.Contains(d.folders, above) || slices.Contains(d.folders, path.Dir(above)+each):
		d.changed()
	}
}

// look serves by looking.
func (d *documents) look(ctx context.Context, seen uint64) {
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

// state tells folders apart by the names, sizes and times of their files.
func (d *documents) state() uint64 {
	if d.notify != nil {
		return 0
	}
	sum := fnv.New64a()
	for _, folder := range d.places() {
		entries, _ := os.ReadDir(d.name(folder)) // a folder that is not there has none
		for _, entry := range entries {
			if st, err := entry.Info(); err == nil && !strings.HasPrefix(entry.Name(), ".") {
				_, _ = sum.Write([]byte(folder + "/" + entry.Name() + "\x00" + st.ModTime().String() + "\x00" + st.Mode().String() + "\x00")) // never fails
				_, _ = sum.Write([]byte{byte(st.Size()), byte(st.Size() >> 8), byte(st.Size() >> 16), byte(st.Size() >> 24)})
			}
		}
	}
	return sum.Sum64()
}
