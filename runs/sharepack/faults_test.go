package sharepack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/internal/durable"
	"ac/internal/redact"
	"ac/workspace"
)

// failing is a file system whose n-th change fails.
type failing struct {
	durable.FS
	left *atomic.Int64 // changes until the one that fails
}

func (f failing) fail() error {
	if f.left.Add(-1) == 0 {
		return syscall.ENOSPC
	}
	return nil
}

func (f failing) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if flag&os.O_CREATE == 0 || strings.HasPrefix(name, ".local/locks") {
		return f.FS.OpenFile(name, flag, perm)
	}
	if err := f.fail(); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	return failingFile{file, f}, err
}

func (f failing) Mkdir(name string, perm fs.FileMode) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.Mkdir(name, perm)
}

func (f failing) Rename(from, to string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f failing) SyncDir(name string) error { return errors.Join(f.fail(), f.FS.SyncDir(name)) }

type failingFile struct {
	durable.File
	fs failing
}

func (f failingFile) Write(p []byte) (int, error) {
	if err := f.fs.fail(); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f failingFile) SyncData() error { return errors.Join(f.fs.fail(), f.File.SyncData()) }

// TestEveryFault fails each change to the disk in turn and checks that no part of the pack is
// left behind.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.artifact(t, "art_1.md", "art_1", "org", "run_1", "", "")
	f.write(t, workspace.LogFile(f.project, "run_1"), event(t, "org", "x", nil))
	var left atomic.Int64
	env := workspace.SystemEnv()
	env.OpenFS = func(dir string) (durable.FS, error) {
		root, err := durable.OpenRoot(dir)
		return failing{root, &left}, err
	}
	w, err := workspace.Open(env, f.w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	before := read(t, f.w.Dir())
	for n := int64(1); ; n++ {
		left.Store(n)
		_, err := Create(context.Background(), w, redact.NewRedactor(nil), f.project, "ann")
		if left.Load() > 0 {
			if err != nil || n < 10 {
				t.Fatalf("%d changes, then %v", n, err)
			}
			t.Logf("%d changes to the disk failed in turn", n-1)
			return
		}
		if err == nil {
			t.Errorf("change %d failed, and Create did not tell", n)
		}
		after := read(t, f.w.Dir())
		for name := range after {
			if strings.HasPrefix(name, ".local/locks/") {
				delete(after, name)
			}
		}
		for name := range before {
			if strings.HasPrefix(name, ".local/locks/") {
				delete(before, name)
			}
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("change %d failed (%v), left behind:\n%s", n, err, diff)
		}
		for _, dir := range []string{".local/tmp", workspace.SharePacksDir(f.project)} {
			if entries, err := os.ReadDir(filepath.Join(f.w.Dir(), filepath.FromSlash(dir))); err == nil && len(entries) > 0 {
				t.Fatalf("change %d failed, left behind in %s: %v", n, dir, entries)
			}
		}
	}
}
