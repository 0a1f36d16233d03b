package index

import (
	"context"
	"os"
	"testing"
	"time"

	"ac/index/source"
)

// TestLastSync checks that LastSync advances with every sync of the whole workspace, even if
// nothing changed, but not with a partial sync.
func TestLastSync(t *testing.T) {
	t.Parallel()
	c, w := filled(t)
	ctx := context.Background()
	ix := For(w)
	defer ix.Close()
	if _, ok := ix.LastSync(); ok {
		t.Error("there was none")
	}
	old := time.Unix(1_700_000_000, 0)
	for name, sync := range map[string]func() error{
		"rebuild":   func() error { _, err := ix.Rebuild(ctx); return err },
		"sync":      func() error { _, err := ix.Sync(ctx); return err },
		"of a part": func() error { _, err := ix.SyncOnly(ctx, source.Scope{Kinds: source.Comments}); return err },
	} {
		if _, err := ix.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		must(os.Chtimes(c.path(syncedFile), old, old))
		if err := sync(); err != nil {
			t.Fatal(err)
		}
		if at, ok := ix.LastSync(); !ok || at.After(old) != (name != "of a part") {
			t.Errorf("%s: %v, %v", name, at, ok)
		}
	}
}
