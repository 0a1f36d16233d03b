//go:build unix

package filetools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ac/internal/fault"
)

func stage(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o750), os.WriteFile(full, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func opened(t *testing.T, dirs ...string) *Dirs {
	t.Helper()
	d, err := New(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// told returns the answer, or the full error after an exclamation mark.
func told(text string, err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return "! " + e.InFull()
	}
	if err != nil {
		return "! " + err.Error()
	}
	return text
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := stage(t, map[string]string{
		"a.txt": "one\ntwo\nthree", "empty": "", "binary": "a\x00b", "odd": "caf\xe9\r\n",
		"long":  strings.Repeat("x", answerBytes+10) + "\nafter\n",
		"large": strings.Repeat(strings.Repeat("y", 1023)+"\n", 100),
	})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := stage(t, map[string]string{"secret": "s", "more": "m"})
	library := stage(t, map[string]string{"lib.go": "package lib\n"})
	if err := errors.Join(os.Symlink(filepath.Join(elsewhere, "secret"), filepath.Join(dir, "out")), os.Symlink("a.txt", filepath.Join(dir, "in"))); err != nil {
		t.Fatal(err)
	}
	d := opened(t, dir, library)
	read := func(path string, offset, limit int64) string {
		return told(d.Read(t.Context(), ReadFile{Path: path, Offset: offset, Limit: limit}))
	}
	for _, c := range []struct {
		path          string
		offset, limit int64
		want          string
	}{
		{"a.txt", 1, 2000, "one\ntwo\nthree"},
		{"in", 1, 1, "one\n[lines 1 to 1 of 3; continue with offset 2]"},
		{"./a.txt", 2, 1, "two\n[lines 2 to 2 of 3; continue with offset 3]"},
		{"a.txt", 3, 5, "three"},
		{"a.txt", 4, 5, "[the file has 3 lines]"},
		{filepath.Join(dir, "a.txt"), 1, 1, "one\n[lines 1 to 1 of 3; continue with offset 2]"},
		{filepath.Join(library, "lib.go"), 1, 9, "package lib\n"},
		{"empty", 1, 9, "[the file is empty]"},
		{"odd", 1, 9, "caf\uFFFD\r\n"},
		{"binary", 1, 9, "! binary: it is not text"},
		{"none", 1, 9, "! there is no none"},
		{"lib.go", 1, 9, "! there is no lib.go"},
		{filepath.Join(elsewhere, "secret"), 1, 9, "! Invalid params: path: " + filepath.Join(elsewhere, "secret") + " is in none of " + dir + ", " + library},
	} {
		if got := read(c.path, c.offset, c.limit); got != c.want {
			t.Errorf("%s %d %d: %q", c.path, c.offset, c.limit, got)
		}
	}
	for _, path := range []string{"out", "../" + filepath.Base(elsewhere) + "/secret", "pipe", "."} {
		if got := read(path, 1, 9); !strings.HasPrefix(got, "! ") || strings.Contains(got, "s\n") {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := read("long", 1, 1); !strings.HasPrefix(got, "xxx") || !strings.HasSuffix(got, " [the rest of line 1 is omitted]\n[lines 1 to 1 of 2; continue with offset 2]") || len(got) > answerBytes+100 {
		t.Errorf("%d bytes, %q", len(got), got[max(0, len(got)-100):])
	}
	if got := read("large", 1, 2000); !strings.HasSuffix(got, "[lines 1 to 32 of 100; continue with offset 33]") {
		t.Errorf("%q", got[max(0, len(got)-100):])
	}
	if got := read("large", 97, 2000); strings.Count(got, "\n") != 4 || strings.Contains(got, "[") {
		t.Errorf("%q", got[max(0, len(got)-100):])
	}
}

// TestLinkedPaths reaches the directory through symlinks to it and above it, as an agent does
// if its working directory's path contains symlinks. Links that lead outside stay denied.
func TestLinkedPaths(t *testing.T) {
	t.Parallel()
	above := stage(t, map[string]string{"real/a.txt": "inside\n", "real/b/c.txt": "below\n", "elsewhere/secret": "s\n", "elsewhere/b/c.txt": "s\n"})
	at := func(name string) string { return filepath.Join(above, filepath.FromSlash(name)) }
	for link, target := range map[string]string{
		"direct": at("real"), "above": above, "file": at("real/a.txt"), "away": at("elsewhere"),
		"real/out": at("elsewhere"), "real/secret": at("elsewhere/secret"), "elsewhere/in": at("real"),
	} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"real", "direct", "above/direct"} {
		d := opened(t, at(dir))
		read := func(name string) string {
			return told(d.Read(t.Context(), ReadFile{Path: at(name), Offset: 1, Limit: 9}))
		}
		for name, want := range map[string]string{
			"real/a.txt": "inside\n", "direct/a.txt": "inside\n", "direct/b/c.txt": "below\n", "above/direct/b/c.txt": "below\n",
			"above/real/b/../a.txt": "inside\n", "elsewhere/in/a.txt": "inside\n", "file": "inside\n",
			"direct/none": "! there is no " + at("direct/none"),
		} {
			if got := read(name); got != want {
				t.Errorf("%s of %s: %q", name, dir, got)
			}
		}
		for _, name := range []string{
			"elsewhere/secret", "away/secret", "away/b/c.txt", "direct/out/secret", "direct/out/b/c.txt", "direct/secret", "above/away/secret",
			"above/elsewhere/secret", "direct/../elsewhere/secret", "real/out/none", "elsewhere/none",
		} {
			if got := read(name); !strings.HasPrefix(got, "! ") {
				t.Errorf("%s of %s got out: %q", name, dir, got)
			}
		}
		if got := told(d.List(t.Context(), ListFiles{Path: at("direct"), Depth: 1})); got != "a.txt\nb/\nout\nsecret\n" {
			t.Errorf("%s listed by a link: %q", dir, got)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	files := map[string]string{"b.txt": "", "a/x.go": "", "a/deep/y.go": "", ".git/config": ""}
	dir, library := stage(t, files), stage(t, map[string]string{"lib.go": ""})
	d := opened(t, dir, library)
	list := func(path string, depth int) string {
		return told(d.List(t.Context(), ListFiles{Path: path, Depth: depth}))
	}
	for _, c := range []struct {
		path  string
		depth int
		want  string
	}{
		{".", 1, ".git/\na/\nb.txt\n"},
		{".", 2, ".git/\na/\na/deep/\na/x.go\nb.txt\n"},
		{"a", 1, "a/deep/\na/x.go\n"},
		{"a/", 20, "a/deep/\na/deep/y.go\na/x.go\n"},
		{"b.txt", 1, "b.txt\n"},
		{library, 1, filepath.Join(library, "lib.go") + "\n"},
		{"none", 1, "! there is no none"},
	} {
		if got := list(c.path, c.depth); got != c.want {
			t.Errorf("%s %d: %q", c.path, c.depth, got)
		}
	}
	for i := range 1500 {
		files[fmt.Sprintf("many/a-file-with-a-long-name-%04d", i)] = ""
	}
	if got := told(opened(t, stage(t, files)).List(t.Context(), ListFiles{Path: "many", Depth: 1})); !strings.HasSuffix(got, "[there are more; list a subdirectory, or with less depth]") || len(got) > answerBytes+100 {
		t.Errorf("%d bytes", len(got))
	}
	if got := told(opened(t, t.TempDir()).List(t.Context(), ListFiles{Path: ".", Depth: 1})); got != "[it is empty]" {
		t.Errorf("%q", got)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	dir := stage(t, map[string]string{
		"a.go": "package a\n\nfunc Find() {}\n", "b/c.go": "func Find() {}", "b/c.txt": "func Find\n", "binary.go": "func Find\x00", ".git/x.go": "func Find",
		"wide": strings.Repeat("z", 5000) + "\n",
	})
	elsewhere := stage(t, map[string]string{"secret.go": "func Find"})
	if err := os.Symlink(elsewhere, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	d := opened(t, dir)
	for _, c := range []struct {
		ask  SearchFiles
		want string
	}{
		{SearchFiles{Pattern: `func \w+`, Path: "."}, "a.go:3: func Find() {}\nb/c.go:1: func Find() {}\nb/c.txt:1: func Find\n"},
		{SearchFiles{Pattern: `func`, Path: ".", Glob: "*.txt"}, "b/c.txt:1: func Find\n"},
		{SearchFiles{Pattern: `func`, Path: "b", Glob: "b/*.go"}, "b/c.go:1: func Find() {}\n"},
		{SearchFiles{Pattern: `func`, Path: "a.go"}, "a.go:3: func Find() {}\n"},
		{SearchFiles{Pattern: `^z`, Path: "."}, "wide:1: " + strings.Repeat("z", lineBytes) + "\n"},
		{SearchFiles{Pattern: `nowhere`, Path: "."}, "[no matches]"},
		{SearchFiles{Pattern: `(`, Path: "."}, "! Invalid params: pattern: missing closing ): `(` (RE2 syntax)"},
		{SearchFiles{Pattern: `x`, Path: ".", Glob: "["}, "! Invalid params: glob: must be a pattern such as *.go"},
		{SearchFiles{Pattern: `x`, Path: "out"}, "! out: path escapes from parent"},
		{SearchFiles{Pattern: `x`, Path: "none"}, "! there is no none"},
	} {
		if got := told(d.Search(t.Context(), c.ask)); got != c.want {
			t.Errorf("%+v: %q", c.ask, got)
		}
	}
	many := opened(t, stage(t, map[string]string{"many": strings.Repeat("here\n", 9000)}))
	if got := told(many.Search(t.Context(), SearchFiles{Pattern: "here", Path: "."})); !strings.HasSuffix(got, "[there are more; narrow the pattern, the path or the glob]") || len(got) > answerBytes+100 {
		t.Errorf("%d bytes", len(got))
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := many.Search(over, SearchFiles{Pattern: "here", Path: "."}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
