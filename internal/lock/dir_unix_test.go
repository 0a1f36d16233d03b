//go:build unix

package lock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ac/internal/durable"
	"ac/internal/lock"
)

// TestDir locks a directory through two names. The second lock waits, and locking creates no
// files.
func TestDir(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir, link := filepath.Join(parent, "dir"), filepath.Join(parent, "link")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Symlink(dir, link)); err != nil {
		t.Fatal(err)
	}
	held, err := lock.Dir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(dir); err != nil || durable.IdentityOf(st) != held.Identity {
		t.Errorf("%+v, %v", held.Identity, err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lock.Dir(impatient, link); !errors.Is(err, context.Canceled) {
		t.Errorf("a second lock: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := lock.Dir(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
