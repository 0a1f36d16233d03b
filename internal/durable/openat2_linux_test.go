package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// pair is one directory opened twice: one root resolves names with openat2, the other with
// os.Root.
type pair struct{ openat2, slow *Root }

func openPair(tb interface {
	Fatal(...any)
	Cleanup(func())
}, dir string) pair {
	openat2, err := OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	slow, err := OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	slow.openat2.unsupported.Store(true)
	tb.Cleanup(func() {
		if err := errors.Join(openat2.Close(), slow.Close()); err != nil {
			tb.Fatal(err)
		}
	})
	return pair{openat2, slow}
}

// hasKernelWalk reports whether this kernel supports openat2.
func hasKernelWalk(dir string) bool {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	found, err := unix.Openat2(fd, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH})
	if err == nil {
		_ = unix.Close(found)
	}
	return err == nil
}

// kindOf returns the kind of an error, as callers distinguish it.
func kindOf(err error) string {
	for _, known := range []error{fs.ErrNotExist, fs.ErrExist, ErrIrregular, syscall.ENOTDIR, syscall.ELOOP, syscall.EISDIR, syscall.ENOTEMPTY, syscall.EINVAL} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil && strings.Contains(err.Error(), "escapes") {
		return "escapes"
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// answers returns what every read operation reports about a name.
func answers(r *Root, name string) []string {
	var told []string
	say := func(op string, what any, err error) {
		if err != nil {
			what = nil
		}
		told = append(told, fmt.Sprintf("%s: %v, %s", op, what, kindOf(err)))
	}
	describe := func(st fs.FileInfo, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %v %v %+v", st.Name(), st.Mode(), st.IsDir(), VersionOf(st)), nil
	}
	st, err := describe(r.Lstat(name))
	say("lstat", st, err)
	st, err = describe(r.Stat(name))
	say("stat", st, err)
	text, info, err := ReadFileInfo(r, name, 1<<10)
	if err == nil && VersionOf(info).Size != int64(len(text)) {
		err = errors.New("another size")
	}
	say("read", string(text), err)
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_CREATE | os.O_EXCL} {
		f, err := r.OpenFile(name, flag, 0o600)
		if err == nil {
			err = f.Close()
		}
		if err == nil && flag&os.O_EXCL != 0 {
			err = r.Remove(name)
		}
		say(fmt.Sprintf("open %x", flag), nil, err)
	}
	names, err := r.ReadNames(name)
	say("names", names, err)
	say("sync", nil, r.SyncDir(name))
	d, err := OpenDir(r, name)
	if err == nil {
		err = d.Close()
	}
	say("dir", nil, err)
	return told
}

// TestKernelWalk checks that openat2 and os.Root give the same answers in trees with links of
// every kind, and that neither leaves its root.
func TestKernelWalk(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	if !hasKernelWalk(above) {
		t.Skip("SKIPPED: this kernel has no openat2")
	}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(above, "") //nolint:usetesting // one for each example
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) }) // best effort: the test's cleanup removes the rest
		root := filepath.Join(dir, "root")
		parts := []string{"a", "b", "c", "d"}
		name := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 4).Draw(t, "parts"), "/")
		})
		target := rapid.OneOf(name, rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(parts, "..", ".", "..", "a")), 1, 5).Draw(t, "steps"), "/")
		}), rapid.SampledFrom([]string{"..", "../secret", "../../", "/", "/etc/passwd", root, root + "/a", "/proc/self/fd", "/proc/self/root", "a/", "nowhere", ".", "../root/a"}))
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.MkdirAll(root, 0o755))
		must(os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600))
		for range rapid.IntRange(1, 8).Draw(t, "entries") {
			at := filepath.Join(root, name.Draw(t, "name"))
			// If an ancestor is a file, skip this entry. Skip it too if its path has a link that
			// leads outside, so that nothing is created there.
			if found, err := filepath.EvalSymlinks(filepath.Dir(at)); err != nil || !strings.HasPrefix(found, root) {
				if strings.Contains(linksOn(root, at), "link") || os.MkdirAll(filepath.Dir(at), 0o755) != nil {
					continue
				}
			}
			switch rapid.SampledFrom([]string{"file", "dir", "link", "link", "link", "fifo"}).Draw(t, "kind") {
			case "file":
				if f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
					_, err = f.WriteString(at)
					must(errors.Join(err, f.Close()))
				}
			case "dir":
				_ = os.Mkdir(at, 0o755)
			case "link":
				_ = os.Symlink(target.Draw(t, "target"), at)
			case "fifo":
				_ = unix.Mkfifo(at, 0o600)
			}
		}
		p := openPair(t, root)
		for range 6 {
			at := target.Draw(t, "asked")
			openat2, slow := answers(p.openat2, at), answers(p.slow, at)
			if !slices.EqualFunc(openat2, slow, alike) {
				t.Fatalf("%q:\nkernel  %q\nos.Root %q", at, openat2, slow)
			}
			if strings.Contains(strings.Join(openat2, "\n"), "read: secret") {
				t.Fatalf("%q left the root", at)
			}
		}
	})
}

// alike compares two answers. os.Root follows fewer links than the kernel before it fails.
func alike(openat2, slow string) bool {
	return openat2 == slow || strings.HasSuffix(slow, unix.ELOOP.Error())
}

// linksOn returns "link" if a path has a symlink below root.
func linksOn(root, at string) string {
	for ; len(at) > len(root); at = filepath.Dir(at) {
		if st, err := os.Lstat(at); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return "link"
		}
	}
	return ""
}

// TestKernelWrites checks that both ways create, move and remove names alike.
func TestKernelWrites(t *testing.T) {
	t.Parallel()
	run := func(choose func(pair) *Root) []string {
		dir := t.TempDir()
		root := filepath.Join(dir, "root")
		if err := errors.Join(
			os.MkdirAll(filepath.Join(root, "a", "b"), 0o755), os.Mkdir(filepath.Join(dir, "out"), 0o755),
			os.Symlink("a/b", filepath.Join(root, "in")), os.Symlink("../out", filepath.Join(root, "away")),
			os.Symlink(dir+"/out", filepath.Join(root, "absolute")), os.Symlink("nowhere", filepath.Join(root, "dangling")),
			os.WriteFile(filepath.Join(dir, "out", "kept"), nil, 0o600), os.WriteFile(filepath.Join(root, "a", "file"), nil, 0o600),
		); err != nil {
			t.Fatal(err)
		}
		r := choose(openPair(t, root))
		var told []string
		for _, err := range []error{
			r.Mkdir("a/c", 0o755), r.Mkdir("a/c", 0o755), r.Mkdir("in/d", 0o755), r.Mkdir("away/d", 0o755), r.Mkdir("absolute/d", 0o755),
			r.Mkdir("missing/d", 0o755), r.Mkdir("dangling", 0o755), r.Mkdir("../d", 0o755), r.Mkdir(".", 0o755),
			r.Link("a/file", "in/linked"), r.Link("a/file", "in/linked"), r.Link("a/file", "away/linked"), r.Link("away/kept", "stolen"), r.Link("away", "link"),
			r.Rename("a/file", "in/moved"), r.Rename("a/file", "in/moved"), r.Rename("in/moved", "away/moved"), r.Rename("away/kept", "stolen"),
			r.Rename("in/moved", "a/b/again"), r.Rename("a", "a/b/below"), r.Rename(".", "x"), r.Rename("a/c", "in/d"), r.Rename("in/linked", "in"),
			r.Remove("away/kept"), r.Remove("a"), r.Remove("in/d"), r.Remove("in/again"), r.Remove("in/again"), r.Remove("away"), r.Remove("."), r.Remove("../out"),
			WriteNew(r, "dangling", []byte("x"), 0o644), WriteNew(r, "absolute/x", nil, 0o644), WriteNew(r, "a/b/x", []byte("x"), 0o644),
		} {
			told = append(told, kindOf(err))
		}
		if err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
			told = append(told, strings.TrimPrefix(name, dir))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return told
	}
	openat2 := run(func(p pair) *Root { return p.openat2 })
	slow := run(func(p pair) *Root { return p.slow })
	if !slices.Equal(openat2, slow) {
		t.Errorf("kernel  %q\nos.Root %q", openat2, slow)
	}
	if !slices.Contains(openat2, "/out/kept") {
		t.Error("something outside was touched")
	}
}

// TestClosedRoot checks that a closed root returns errors.
func TestClosedRoot(t *testing.T) {
	t.Parallel()
	r, err := OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(WriteNew(r, "doc", nil, 0o600), r.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Stat("doc"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed root answered: %v", err)
	}
}
