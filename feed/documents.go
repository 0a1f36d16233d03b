package feed

// Noticing that documents changed, by whomever: folders of a workspace are
// watched by the system where that works, and looked at where it doesn't.

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

// each is the end of a name that stands for all folders in a folder.
const each = "/*"

// WatchDocuments reports changes of the files that lie in some folders of a
// workspace, until stop is called, which waits for what it runs. Folders need
// not be there yet; a name that ends in "/*" stands for all folders in that one, as
// they come and go. changed must not block; it may be told too often, and one
// call stands for any number of changes.
func WatchDocuments(w *workspace.Workspace, folders []string, changed func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &documents{ws: w, folders: folders, changed: changed}
	d.heard, _ = w.Watched().Listen() // nil: looking serves
	if d.heard != nil && !d.watch() {
		d.heard.Close()
		d.heard = nil
	}
	seen := d.state()
	var wg sync.WaitGroup
	wg.Go(func() {
		if d.heard != nil {
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
	heard   *watch.Listener // nil where folders cannot be watched
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

// watch watches every folder, and the way to it. It reports whether the system took
// all of that. A folder that comes while its parent is not yet
// watched comes without a notice: folders are listed again until there are no others.
func (d *documents) watch() bool {
	for places := d.places(); ; {
		for _, folder := range places {
			if _, err := d.heard.Add(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false // a link may lead to somewhere else at any time
			}
		}
		now := d.places()
		if slices.Equal(places, now) {
			return true
		}
		places = now
	}
}

// follow serves what the system tells.
func (d *documents) follow(ctx context.Context) {
	defer d.heard.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.heard.Changed():
			d.heed()
		}
	}
}

// heed reports a change of a file in a folder, and follows folders that come and go.
func (d *documents) heed() {
	changes, lost := d.heard.Take()
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

// concerns reports whether a change is one of the ways to the folders, or of a file in
// one.
func (d *documents) concerns(change watch.Change) (ways, file bool) {
	if base := path.Base(change.Name); strings.HasPrefix(base, ".") && change.Name != workspace.LocalDir {
		return false, false
	}
	onTheWay := func(folder string) bool { return folder == change.Name || strings.HasPrefix(folder, change.Name+"/") }
	above := path.Dir(change.Name)
	if slices.ContainsFunc(d.folders, onTheWay) || slices.Contains(d.folders, above+each) {
		return change.Made || change.Gone, false
	}
	return false, (change.Made || change.Written || change.Gone) &&
		(slices.Contains(d.folders, above) || slices.Contains(d.folders, path.Dir(above)+each))
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
	if d.heard != nil {
		return 0 // nobody compares it
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
