package session

// The stop marker: a file that asks for a stop when the socket cannot be reached.

import (
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"ac/workspace"
)

// How often the marker is looked for: where its folder is watched, only in case a
// notice was lost.
const (
	markerEvery   = 500 * time.Millisecond
	markerWatched = 30 * time.Second
)

// watchMarker asks for a stop when the marker appears while the provider runs. The
// function that it returns ends the watch and waits for that.
func (s *supervisor) watchMarker() (done func()) {
	marker := path.Join(workspace.ProjectDir(s.order.ProjectID), stopMarker(s.order.RunID))
	over := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		every := markerEvery
		var changes <-chan fsnotify.Event
		var faults <-chan error
		if notify := watchDir(filepath.Join(s.w.Dir(), filepath.FromSlash(path.Dir(marker)))); notify != nil {
			defer func() { _ = notify.Close() }() // nothing of it is kept
			changes, faults, every = notify.Events, notify.Errors, markerWatched
		}
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			if s.w.Exists(marker) {
				s.requestStop(true)
				return
			}
			if !s.nextLook(changes, faults, ticker.C, over, path.Base(marker)) {
				return
			}
		}
	})
	return func() {
		close(over)
		group.Wait()
	}
}

// nextLook waits for a reason to look for the marker; false at the end.
func (s *supervisor) nextLook(changes <-chan fsnotify.Event, faults <-chan error, tick <-chan time.Time, over <-chan struct{}, name string) bool {
	for {
		select {
		case <-over:
			return false
		case <-s.stop:
			return false
		case <-tick:
			return true
		case _, ok := <-faults: // notices were lost
			if ok {
				return true
			}
			faults = nil
		case change, ok := <-changes:
			if !ok {
				changes = nil
			} else if filepath.Base(change.Name) == name {
				return true
			}
		}
	}
}

// watchDir watches a folder; nil where that does not work.
func watchDir(dir string) *fsnotify.Watcher {
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
