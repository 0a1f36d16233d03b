package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ac/workspace/doc"
)

// tree returns Links over a map of paths. "" is no link, "!" cannot be read, and any other
// value is the link's target.
func tree(names map[string]string) Links {
	return func(path string) (string, bool, error) {
		target, there := names[path]
		switch {
		case !there:
			return "", false, fs.ErrNotExist
		case target == "!":
			return "", false, fs.ErrPermission
		}
		return target, target != "", nil
	}
}

func TestAccesses(t *testing.T) {
	t.Parallel()
	root, err := NewRoot("/w", tree(map[string]string{
		"/w": "/repo", "/repo": "", "/repo/a": "", "/repo/out": "/etc", "/repo/in": "a", "/repo/up": "a/b", "/repo/a/b": "",
		"/repo/dangling": "/nowhere/x", "/repo/loop": "loop", "/repo/shut": "!", "/etc": "",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want []string
	}{
		{"a", []string{"a"}}, {"./a", []string{"a"}}, {".", []string{"."}}, {"/repo", []string{"."}}, {"/w/a", []string{"a"}},
		{"new/file", []string{"new/file"}}, {"/repo/a", []string{"a"}}, {"../x", []string{"/x"}}, {"/etc/passwd", []string{"/etc/passwd"}},
		{"/repository/a", []string{"/repository/a"}}, {"a//b/", []string{"a/b"}}, {"a/../a", []string{"a"}}, {"..a", []string{"..a"}},
		{"out", []string{"/etc"}}, {"out/new", []string{"/etc/new"}}, {"in/x", []string{"a/x"}}, {"dangling", []string{"/nowhere/x"}},
		// A .. after a link is ambiguous: it may mean either directory.
		{"up/../c", []string{"c", "a/c"}}, {"out/../c", []string{"c", "/c"}},
		// A path that cannot be resolved is unknown.
		{"", []string{""}}, {"loop", []string{""}}, {"shut/x", []string{""}}, {"a\x00b", []string{""}},
	} {
		var got []string
		for _, a := range root.Accesses(doc.OpWrite, c.path) {
			if a.Operation != doc.OpWrite {
				t.Errorf("%q: operation %s", c.path, a.Operation)
			}
			got = append(got, a.Resource)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("Accesses(%q) = %q, want %q", c.path, got, c.want)
		}
	}
	if _, err := NewRoot("/w", tree(map[string]string{"/w": "/w"})); !errors.Is(err, errTooManyLinks) {
		t.Errorf("a root that leads to itself: %v", err)
	}
}

// TestAccessesAreThoseOfTheSystem compares accesses with the links of a real directory.
func TestAccessesAreThoseOfTheSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside, inside := filepath.Join(dir, "outside"), filepath.Join(dir, "root", "sub")
	for _, d := range []string{outside, inside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"out": outside, "in": "sub", "gone": filepath.Join(outside, "gone")} {
		if err := os.Symlink(target, filepath.Join(dir, "root", name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := NewRoot(filepath.Join(dir, "root"), ReadLink)
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.EvalSymlinks(outside)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"in/x": "sub/x", "out/x": filepath.ToSlash(found) + "/x", "gone": filepath.ToSlash(found) + "/gone", "sub": "sub"} {
		if got := root.Accesses(doc.OpRead, path); len(got) != 1 || got[0].Resource != want {
			t.Errorf("%s is %+v, want %s", path, got, want)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	if got := Command("/bin/bash -lc 'touch x'"); got != (Access{doc.OpExec, "touch x"}) {
		t.Errorf("got %+v", got)
	}
}
