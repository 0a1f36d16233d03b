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
	// Often is the time between looks where changes cannot be watched, Seldom where
	// they are, since a notice may be lost.
	Often, Seldom time.Duration
}

// Until calls look at once, after changes in the folder and from time to time, until
// look returns true, and then does so itself. It returns false when the context ends
// before that.
func (f Folder) Until(ctx context.Context, look func() bool) bool {
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

func (f Folder) concerns(c Change) bool { return f.Name == "" || path.Base(c.Name) == f.Name }
