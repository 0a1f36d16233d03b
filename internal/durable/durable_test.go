package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func root(t *testing.T) *Root {
	t.Helper()
	r, err := OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func namer() Namer {
	return Namer{PID: 7, UnixMS: func() int64 { return 42 }, Random: func(n int) string { return strings.Repeat("ab", n) }}
}

func TestWriteReplaces(t *testing.T) {
	t.Parallel()
	r := root(t)
	for i, perm := range []fs.FileMode{0o644, 0o600} {
		text := strings.Repeat("text", 1+i)
		if err := namer().Write(r, "a/b/doc.yaml", []byte(text), perm); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(r, "a/b/doc.yaml", 100)
		if err != nil || string(got) != text {
			t.Errorf("%q (%v)", got, err)
		}
		st, err := r.Stat("a/b/doc.yaml")
		if err != nil || st.Mode().Perm() != perm {
			t.Errorf("mode %v, not %v (%v)", st.Mode().Perm(), perm, err)
		}
	}
	entries, err := r.ReadDir("a/b")
	if err != nil || len(entries) != 1 {
		t.Fatalf("beside it: %v (%v)", entries, err)
	}
	if st, err := entries[0].Info(); err != nil || st.Name() != "doc.yaml" || entries[0].Type() != st.Mode().Type() {
		t.Errorf("the entry %v is described as %v (%v)", entries[0], st, err)
	}
}

func TestTempName(t *testing.T) {
	t.Parallel()
	name := namer().TempName("a/b/doc.yaml")
	if name != "a/b/.doc.yaml.tmp-7-42-abababababab" || !IsTempName(filepath.Base(name)) || IsTempName("doc.yaml") {
		t.Error(name)
	}
}

// TestOldDocumentStands checks that a failed write keeps the old document and leaves nothing
// else.
func TestOldDocumentStands(t *testing.T) {
	t.Parallel()
	r := root(t)
	if err := errors.Join(r.Mkdir("target", 0o755), WriteNew(r, "target/inside", []byte("x"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := namer().Write(r, "target", []byte("new"), 0o644); err == nil {
		t.Error("a directory was replaced by a document")
	}
	if entries, err := r.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}
}

func TestReadFileLimit(t *testing.T) {
	t.Parallel()
	r := root(t)
	if err := WriteNew(r, "a", []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(r, "a", 4); err == nil {
		t.Error("more than the limit was read")
	}
	if text, err := ReadFile(r, "a", 5); err != nil || string(text) != "12345" {
		t.Errorf("%q (%v)", text, err)
	}
}

// TestNoWayOut checks that no name and no symlink at any level leads out of the root, for reading
// or writing.
func TestNoWayOut(t *testing.T) {
	t.Parallel()
	r := root(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := errors.Join(
		os.WriteFile(secret, []byte("secret"), 0o600),
		os.MkdirAll(filepath.Join(r.Path(), "a/b"), 0o750),
		os.Symlink(outside, filepath.Join(r.Path(), "out")),
		os.Symlink(outside, filepath.Join(r.Path(), "a/out")),
		os.Symlink("../../..", filepath.Join(r.Path(), "a/b/up")),
		os.Symlink(secret, filepath.Join(r.Path(), "a/b/secret")),
		os.Symlink(filepath.Join(outside, "missing"), filepath.Join(r.Path(), "a/b/dangling")),
		os.Symlink("loop", filepath.Join(r.Path(), "loop")),
	); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"../x", "a/../../x", secret, "out/secret", "a/out/secret", "a/b/up/x", "a/b/secret", "a/b/dangling", "a/b/dangling/x", "loop", "a\x00b",
	} {
		if _, err := ReadFile(r, name, 100); err == nil {
			t.Errorf("%q was read", name)
		}
		if f, err := r.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644); err == nil {
			t.Errorf("%q was opened for writing", name)
			_ = f.Close()
		}
	}
	for _, name := range []string{"../x", "out/new", "a/out/new/deep", "a/b/up/new"} {
		if err := namer().Write(r, name, []byte("new"), 0o644); err == nil {
			t.Errorf("%q was written", name)
		}
		if err := r.RemoveAll(name); err == nil && Exists(r, name) {
			t.Errorf("%q: removed and still there", name)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside: %v (%v)", entries, err)
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "secret" {
		t.Errorf("outside: %q (%v)", text, err)
	}
}

// TestLinksInside checks that a symlink that stays inside the root is followed.
func TestLinksInside(t *testing.T) {
	t.Parallel()
	r := root(t)
	if err := errors.Join(
		os.MkdirAll(filepath.Join(r.Path(), "real"), 0o750),
		os.Symlink("real", filepath.Join(r.Path(), "link")),
		namer().Write(r, "link/doc", []byte("text"), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(r, "real/doc", 100); err != nil || string(text) != "text" {
		t.Errorf("%q (%v)", text, err)
	}
}

func TestMkdirAll(t *testing.T) {
	t.Parallel()
	r := root(t)
	if err := errors.Join(MkdirAll(r, "a/b/c", 0o755), MkdirAll(r, "a/b/c", 0o755), WriteNew(r, "a/file", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := MkdirAll(r, "a/file", 0o755); err == nil {
		t.Error("a file counts as a directory")
	}
	if err := MkdirAll(r, "a/file/b", 0o755); err == nil {
		t.Error("a directory below a file")
	}
}

// TestTick checks that a file becomes cacheable once the timestamps of its file system would show
// another write. An unknown device counts as coarse.
func TestTick(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := namer().Write(r, "doc", []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	st, err := r.Stat("doc")
	if err != nil {
		t.Fatal(err)
	}
	v := VersionOf(st)
	tick := r.Granularity(v.ID.Device)
	if tick != Coarse && tick != fine {
		t.Errorf("%s", tick)
	}
	last := time.Unix(0, max(v.Modified, v.Changed))
	if v.Cacheable(r, last.Add(tick)) || !v.Cacheable(r, last.Add(tick+1)) {
		t.Errorf("with ticks of %s", tick)
	}
	v.ID.Device++
	if v.Cacheable(r, last.Add(Coarse)) || !v.Cacheable(r, last.Add(Coarse+1)) {
		t.Error("a device that nothing is known of")
	}
	// Two writes that far apart have different times, whatever the file system reports.
	for range 5 {
		before := v
		time.Sleep(tick)
		if err := os.WriteFile(filepath.Join(dir, "doc"), []byte("TEXT"), 0o644); err != nil {
			t.Fatal(err)
		}
		if st, err = r.Stat("doc"); err != nil {
			t.Fatal(err)
		}
		if v = VersionOf(st); v == before {
			t.Errorf("two writes %s apart have the same times", tick)
		}
	}
}

// TestExchangeFails checks the error of an exchange that the system refuses.
func TestExchangeFails(t *testing.T) {
	t.Parallel()
	err := root(t).Exchange("a", "b")
	if errors.Is(err, ErrNoExchange) {
		t.Skip("SKIPPED: names cannot be exchanged here")
	}
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "exchange a b: ") || strings.Contains(err.Error(), "sync") {
		t.Errorf("%v", err)
	}
}
