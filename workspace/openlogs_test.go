package workspace

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ac/events"
	"ac/internal/durable"
)

// slowDisk delays the first sync of a log until the log has enough lines.
type slowDisk struct {
	durable.FS
	log   string
	lines int
	syncs atomic.Int64
}

func (d *slowDisk) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := d.FS.OpenFile(name, flag, perm)
	if err != nil || !strings.HasSuffix(name, "events.jsonl") {
		return f, err
	}
	return &slowFile{f, d}, nil
}

type slowFile struct {
	durable.File
	disk *slowDisk
}

func (f *slowFile) SyncData() error {
	if f.disk.syncs.Add(1) == 1 {
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if text, err := os.ReadFile(f.disk.log); err == nil && bytes.Count(text, []byte("\n")) >= f.disk.lines {
				break
			}
		}
	}
	return f.File.SyncData()
}

// TestAppendsShareSyncs checks that concurrent appends to a log with a slow disk share a sync,
// and that no file stays open.
func TestAppendsShareSyncs(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	const log, writers = "events.jsonl", 12
	disk := &slowDisk{FS: w.FS, log: filepath.Join(w.Dir(), log), lines: writers}
	w.FS = disk
	var group sync.WaitGroup
	for range writers {
		draft, err := w.Events.Draft(events.Draft{RunID: "r", SessionRef: "s", Actor: "a", Visibility: events.VisibilityOrg, Type: "note.said"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			if err := w.Append(t.Context(), log, draft); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := disk.syncs.Load(); n > 3 {
		t.Errorf("%d syncs of %d appends", n, writers)
	}
	if len(w.logs.byName) != 0 {
		t.Errorf("%d logs stay open", len(w.logs.byName))
	}
}
