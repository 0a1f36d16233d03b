//go:build unix

package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestIrregular checks that only regular files can be opened, and that opening a FIFO without a
// writer does not block.
func TestIrregular(t *testing.T) {
	t.Parallel()
	r := root(t)
	if err := errors.Join(
		syscall.Mkfifo(filepath.Join(r.Path(), "fifo"), 0o600),
		os.Symlink("fifo", filepath.Join(r.Path(), "link")),
		r.Mkdir("dir", 0o755),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fifo", "link", "dir", "."} {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_CREATE | os.O_APPEND} {
			if f, err := r.OpenFile(name, flag, 0o644); err == nil {
				t.Errorf("%s was opened with %x", name, flag)
				_ = f.Close()
			}
		}
	}
}

// TestVersion checks that a replaced file has a new version, even with the same content.
func TestVersion(t *testing.T) {
	t.Parallel()
	r := root(t)
	var seen []Version
	for range 2 {
		if err := namer().Write(r, "doc", []byte("same"), 0o644); err != nil {
			t.Fatal(err)
		}
		st, err := r.Stat("doc")
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, VersionOf(st))
		if VersionOf(st).Cacheable(r, st.ModTime()) {
			t.Error("a fresh file may be cached")
		}
	}
	if seen[0] == seen[1] {
		t.Errorf("one version for two files: %+v", seen)
	}
}
