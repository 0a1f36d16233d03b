package index

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ac/internal/durable"
	"ac/internal/fault"
)

// fullDisk fails every write below .local with ENOSPC.
type fullDisk struct{ durable.FS }

func (f fullDisk) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) != 0 && strings.HasPrefix(name, ".local/") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	return f.FS.OpenFile(name, flag, perm)
}

// TestDiskFull checks that snapshots fall back to the workspace's files while the index cannot
// be written, whether or not there is an old one. Once the index can be written, it is used
// again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, there := range []bool{false, true} {
		c, w := filled(t)
		good := w.FS
		ix := For(w)
		if there {
			if _, err := ix.Sync(ctx); err != nil {
				t.Fatal(err)
			}
			must(ix.Close())
		}
		w.FS = fullDisk{good}
		ix = For(w)
		if _, err := ix.Sync(ctx); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("a sync says %v", err)
		}
		count := func(want int) {
			t.Helper()
			done, err := look(ctx, ix, UpToDate, func(v *View) error {
				s, err := v.Stats()
				if err == nil && s.Events != want {
					t.Errorf("%d events instead of %d", s.Events, want)
				}
				return errors.Join(err, whole(v))
			})
			if err != nil || done == (EnsureResult{}) {
				t.Errorf("%+v, %v", done, err)
			}
		}
		count(childRuns * 30)
		c.append("work/projects/p/runs/r1/events.jsonl", eventLine(1, "note")+"\n")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { count(childRuns*30 + 1) })
		}
		wg.Wait()
		if !there {
			if err := ix.View(ctx, whole); !fault.Is(err, fault.NoIndex) {
				t.Errorf("a read without a sync says %v", err)
			}
		}
		if done, err := look(ctx, ix, FullRebuild, whole); err != nil || !done.Rebuilt {
			t.Errorf("%+v, %v", done, err)
		}
		must(ix.Close())
		w.FS = good
		ix = For(w)
		count(childRuns*30 + 1)
		if ix.fallback != nil {
			t.Error("the file was not used again")
		}
		must(ix.Close())
	}
}
