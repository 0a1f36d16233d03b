package watch

// Waiting for a change in one folder.

import (
	"context"
	"path"
	"slices"
	"time"
)

// Folder describes what to watch.
type Folder struct {
	Dir string
	// Name is the only entry that matters; "" for all.
	Name string
	// OnlyNew: only new entries matter, not later changes to them.
	OnlyNew bool
	// Often is the polling interval if changes cannot be watched. Seldom is the interval if
	// they can, since a notification may be lost.
	PollUnwatched, PollWatched time.Duration
}

// Until calls look at once, after changes in the folder, and periodically, until look returns
// true. Then it returns true. It returns false if the context ends first.
func (f Folder) Until(ctx context.Context, look func() bool) bool {
	if f.OnlyNew {
		if changed, end, err := watchCreated(f.Dir); err == nil {
			defer end()
			return f.untilMade(ctx, look, changed)
		}
	}
	tree := NewSmallTree(f.Dir)
	defer func() { _ = tree.Close() }() // nothing in it is persistent
	every := f.PollUnwatched
	var changed <-chan struct{}
	l, err := tree.Listen()
	if err == nil {
		if _, err := l.Add("."); err == nil {
			changed, every = l.Changed(), f.PollWatched
		}
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
			case <-changed:
				changes, lost := l.Take()
				if lost {
					if _, err := l.Add("."); err != nil { // the folder was replaced or removed
						changed = nil
						ticker.Reset(f.PollUnwatched)
					}
				}
				due = lost || slices.ContainsFunc(changes, f.concerns)
			}
		}
	}
	return true
}

// untilMade is Until with a channel that reports new entries.
func (f Folder) untilMade(ctx context.Context, look func() bool, changed <-chan struct{}) bool {
	ticker := time.NewTicker(f.PollWatched)
	defer ticker.Stop()
	for !look() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		case _, watched := <-changed:
			if !watched { // the folder was replaced or removed
				changed = nil
				ticker.Reset(f.PollUnwatched)
			}
		}
	}
	return true
}

func (f Folder) concerns(c Change) bool { return f.Name == "" || path.Base(c.Name) == f.Name }
