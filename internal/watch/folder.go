package watch

// Waiting for something in one folder.

import (
	"context"
	"path"
	"slices"
	"time"
)

// Folder is what is watched.
type Folder struct {
	Dir string
	// Name is the only entry that matters; "" for all.
	Name string
	// Made: only entries that are made matter, not what is written to them or becomes of them.
	Made bool
	// Often is the time between looks where changes cannot be watched, Seldom where
	// they are, since a notice may be lost.
	Often, Seldom time.Duration
}

// Until calls look at once, after changes in the folder and from time to time, until
// look returns true, and then does so itself. It returns false when the context ends
// before that.
func (f Folder) Until(ctx context.Context, look func() bool) bool {
	if f.Made {
		if changed, end, err := made(f.Dir); err == nil {
			defer end()
			return f.untilMade(ctx, look, changed)
		}
	}
	tree := NewSmallTree(f.Dir)
	defer func() { _ = tree.Close() }() // nothing of it is kept
	every := f.Often
	var changed <-chan struct{}
	l, err := tree.Listen()
	if err == nil {
		if _, err := l.Add("."); err == nil {
			changed, every = l.Changed(), f.Seldom
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
					if _, err := l.Add("."); err != nil { // it is another folder now, or none
						changed = nil
						ticker.Reset(f.Often)
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
	ticker := time.NewTicker(f.Seldom)
	defer ticker.Stop()
	for !look() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		case _, watched := <-changed:
			if !watched { // it is another folder now, or none
				changed = nil
				ticker.Reset(f.Often)
			}
		}
	}
	return true
}

func (f Folder) concerns(c Change) bool { return f.Name == "" || path.Base(c.Name) == f.Name }
