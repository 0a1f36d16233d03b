package files

// Diffs, checked with git apply and patch.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDiffsApply checks diffs of random edits: git apply must produce the new file, and patch must
// accept them.
func TestDiffsApply(t *testing.T) {
	t.Parallel()
	dir := resolved(t)
	git(t, dir, "init", "--quiet")
	line := rapid.SampledFrom([]string{"a\n", "b\n", "\n", " \n", "\r\n", "c\r\n", "ü\n", "-\n", "+\n", "@@\n", "\\\n", "--- a\n", "diff --git\n", "\ta\n"})
	text := rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for _, l := range rapid.SliceOfN(line, 0, 40).Draw(t, "lines") {
			b.WriteString(l)
		}
		return b.String() + rapid.SampledFrom([]string{"", "", "end", "\r", " "}).Draw(t, "end")
	})
	name := rapid.SampledFrom([]string{"a.txt", "a b.txt", "ü.txt", `q"uote.txt`, "new dir/x y", "-dash", "deep/er/ß é"})
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		path, old := name.Draw(t, "name"), text.Draw(t, "old")
		fresh := edited(t, old, text)
		was, is := Side{true, []byte(old), 0o644}, Side{true, []byte(fresh), 0o644}
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			was = Side{}
		case 1:
			is = Side{}
		case 2:
			is.Mode = 0o755
		}
		context := rapid.IntRange(0, 6).Draw(t, "context")
		if old != "" && !strings.HasSuffix(old, "\n") {
			context = max(context, 1) // without context, git can mistake an equal line for the last one, even in its own diffs
		}
		diff, ok := Compare(path, was, is).Unified(context, 1<<20)
		if !ok {
			t.Fatal("too long")
		}
		if was.Exists == is.Exists && old == fresh && was.Mode == is.Mode {
			return
		}
		n++
		at := filepath.Join(dir, fmt.Sprint(n))
		holds(t, at, path, was, is, diff, context)
	})
}

// edited returns a text with some lines replaced or, at random, an entirely new text.
func edited(t *rapid.T, old string, text *rapid.Generator[string]) string {
	if rapid.Bool().Draw(t, "new") {
		return text.Draw(t, "fresh")
	}
	split := lines(old)
	for i := range split {
		if rapid.IntRange(0, 5).Draw(t, "edit") == 0 {
			split[i] = rapid.SampledFrom([]string{"", "x\n", "x\ny\n"}).Draw(t, "with")
		}
	}
	return strings.Join(split, "")
}

// holds applies a diff with git and, if patch is installed, dry-runs it with patch.
func holds(t *rapid.T, at, path string, was, is Side, diff string, context int) {
	file := filepath.Join(at, path)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Dir(file), 0o755))
	if was.Exists {
		must(os.WriteFile(file, was.Content, was.Mode))
	}
	run := func(program string, args ...string) {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Stdin = at, strings.NewReader(diff)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(at))
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", program, err, said, diff)
		}
	}
	// Without a hunk, patch cannot parse a name with a blank, even in git's own diffs.
	if _, err := exec.LookPath("patch"); err == nil && context > 0 && strings.Contains(diff, "\n--- ") {
		run("patch", "-p1", "--dry-run", "--force", "--binary")
	}
	run("git", "apply", "--unidiff-zero", "--whitespace=nowarn")
	got, err := os.ReadFile(file)
	if !is.Exists {
		if !os.IsNotExist(err) {
			t.Fatalf("it is still there: %v\n%s", err, diff)
		}
		return
	}
	must(err)
	st, err := os.Stat(file)
	must(err)
	if string(got) != string(is.Content) || st.Mode().Perm() != is.Mode {
		t.Fatalf("%q %v\n%s", got, st.Mode(), diff)
	}
}

func TestLongDiffs(t *testing.T) {
	t.Parallel()
	old, fresh := strings.Repeat("a\nb\n", 1<<17), strings.Repeat("a\nc\n", 1<<17)
	if _, ok := Compare("x", Side{true, []byte(old), 0o644}, Side{true, []byte(fresh), 0o644}).Unified(3, maxDiff); ok {
		t.Error("it is short")
	}
	if _, ok := Compare("x", Side{}, Side{true, []byte(fresh[:1000]), 0o644}).Unified(3, maxDiff); !ok {
		t.Error("it is long")
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a/b.go": "go", "go.mod": "go", "x.PY": "python", "a.tsx": "typescript", "Makefile": "makefile", "Dockerfile": "dockerfile",
		"CMakeLists.txt": "cmake", "a.txt": "text", "a": "text", ".go": "go", "x.yml": "yaml", "a.h": "c", "README.md": "markdown",
	} {
		if got := Language(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
