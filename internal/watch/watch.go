// Package watch waits for a change that another process makes in a folder.
package watch

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Folder is what is watched.
type Folder struct {
	Dir string
	// Name is the only entry that matters; "" for all.
	Name string
	// Often is the time between looks where changes cannot be watched, Seldom where
	// they are, since a notice may be lost.
	Often, Seldom time.Duration
}

// Until calls look at once, after changes in the folder and from time to time, until
// look returns true, and then does so itself. It returns false when the context ends
// before that.
func (f Folder) Until(ctx context.Context, look func() bool) bool {
	every := f.Often
	var changes <-chan fsnotify.Event
	var faults <-chan error
	if notify := notices(f.Dir); notify != nil {
		defer func() { _ = notify.Close() }() // nothing of it is kept
		changes, faults, every = notify.Events, notify.Errors, f.Seldom
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for !look() {
		for due := false; !due; {
			select {
			case <-ctx.Done():
				return false
			case <-ticker.C:
				due = true
			case _, due = <-faults: // notices were lost
				if !due {
					faults = nil
				}
			case change, ok := <-changes:
				if !ok {
					changes = nil
					ticker.Reset(f.Often)
				}
				due = ok && (f.Name == "" || filepath.Base(change.Name) == f.Name)
			}
		}
	}
	return true
}

// notices watches a folder; nil where that does not work.
func notices(dir string) *fsnotify.Watcher {
	if st, err := os.Lstat(dir); err != nil || !st.IsDir() { // no link leads away
		return nil
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil
	}
	if err := notify.Add(dir); err != nil {
		_ = notify.Close()
		return nil
	}
	return notify
}
