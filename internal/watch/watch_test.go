package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]bool{"watched": false, "not there yet": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "f")
			if !missing {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			looked := make(chan struct{}, 1)
			made := make(chan error, 1)
			go func() {
				<-looked
				made <- errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "other"), nil, 0o600), os.WriteFile(filepath.Join(dir, "marker"), nil, 0o600))
			}()
			f := Folder{Dir: dir, Name: "marker", Often: time.Millisecond, Seldom: time.Hour}
			if !f.Until(t.Context(), func() bool {
				_, err := os.Lstat(filepath.Join(dir, "marker"))
				select {
				case looked <- struct{}{}:
				default:
				}
				return err == nil
			}) {
				t.Error("it ended without the marker")
			}
			if err := <-made; err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if (Folder{Dir: t.TempDir(), Often: time.Hour, Seldom: time.Hour}).Until(ctx, func() bool { return false }) {
		t.Error("it went on after the end of its context")
	}
}

// TestTree shows what a tree reports of changes: each once, and that anything may have
// changed when a folder went elsewhere.
func TestTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree, err := NewTree(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Log("folders cannot be watched here")
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tree.Close() }()
	at := func(name string) string { return filepath.Join(dir, name) }
	do := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	drained := func(want string, whole bool) {
		t.Helper()
		changed, all := tree.Drain(t.Context())
		if got := strings.Join(changed, " "); got != want || all != whole {
			t.Errorf("%q, %v", got, all)
		}
	}
	do(os.MkdirAll(at("a/b"), 0o700), os.Symlink("a", at("link")), os.WriteFile(at("file"), nil, 0o600))
	for name, want := range map[string]bool{"a/b": true, "a": true, "link": false, "link/b": false, "file": false, "none": false} {
		if _, ok := tree.Add(name); ok != want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	drained("", false)
	do(os.WriteFile(at("a/b/x"), []byte("1"), 0o600), os.WriteFile(at("a/b/x"), []byte("2"), 0o600), os.Mkdir(at("a/c"), 0o700))
	drained("a/b/x a/c", false)
	drained("", false)
	do(os.Rename(at("a"), at("z")))
	drained("", true)
	drained("", false)
	do(os.WriteFile(at("z/b/y"), nil, 0o600))
	drained("", false) // nothing is watched any more
	if _, ok := tree.Add("z/b"); !ok {
		t.Error("it cannot be watched anew")
	}
	do(os.Remove(at("z/b/y")))
	drained("z/b/y", false)
	tree.Lose()
	drained("", true)
}
