package parcel

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// environ returns git's environment for these tests, without the user's configuration.
func environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
	}
}

// git runs git in a directory, as a person would.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return gitIn(t, dir, "", args...)
}

func gitIn(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(gitRaw(t, dir, input, args...))
}

// gitRaw runs git with an input and returns its output untrimmed.
func gitRaw(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-c", "core.protectNTFS=false"}, args...)...)
	cmd.Dir, cmd.Env = dir, environ()
	cmd.Stdin = strings.NewReader(input)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, said.Bytes())
	}
	return string(out)
}

// repository creates a repository with one commit.
func repository(t *testing.T, format string) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "-q", "--object-format="+format)
	lay(t, dir, map[string]string{"a": "one"})
	return dir, commitAll(t, dir, "one")
}

func commitAll(t *testing.T, dir, message string) string {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", message)
	return git(t, dir, "rev-parse", "HEAD")
}

// bundled writes a bundle and opens it.
func bundled(t *testing.T, repo string, heads []Head, without ...string) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "bundle"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := WriteBundle(t.Context(), environ(), repo, heads, without, file); err != nil {
		t.Fatal(err)
	}
	return rewound(t, file)
}

func rewound(t *testing.T, file *os.File) *os.File {
	t.Helper()
	if _, err := file.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	branch = "refs/heads/ac/p/t/r"
	wip    = "refs/ac/wip/r"
)

func wanted() []Want {
	return []Want{{Ref: branch, To: []string{branch, branch + "-2"}}, {Ref: wip, To: []string{wip}, Force: true}}
}

func TestCommitsTravelBothWays(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			hub, base := repository(t, format)
			mirrors := t.TempDir()
			m := Mirrors{FS: openRoot(t, mirrors), Dir: mirrors, Environ: environ()}
			if has, err := m.Has(t.Context(), "repo", base); err != nil || has {
				t.Fatalf("an empty place has the commit: %v", err)
			}
			if err := m.FromBundle(t.Context(), "repo", bundled(t, hub, []Head{{"refs/ac/base", base}}, "0000000000000000000000000000000000000001", "no commit")); err != nil {
				t.Fatal(err)
			}
			if err := m.Keep(t.Context(), "repo", base); err != nil {
				t.Fatal(err)
			}
			tips, err := m.Tips(t.Context(), "repo")
			if has, herr := m.Has(t.Context(), "repo", base); err != nil || herr != nil || !has || len(tips) != 1 || tips[0] != base {
				t.Fatalf("the mirror has it: %v, tips %v, %v, %v", has, tips, err, herr)
			}
			work := filepath.Join(t.TempDir(), "tree")
			git(t, m.Path("repo"), "worktree", "add", "-q", "-b", "ac/p/t/r", work, base)
			lay(t, work, map[string]string{"b": "two"})
			head := commitAll(t, work, "two")
			back := bundled(t, m.Path("repo"), []Head{{branch, head}}, tips...)
			for range 2 { // importing is idempotent
				taken, err := ImportBundle(t.Context(), environ(), hub, rewound(t, back), wanted())
				if diff := cmp.Diff([]ImportedRef{{branch, branch, head}}, taken); err != nil || diff != "" {
					t.Fatalf("%v %s", err, diff)
				}
			}
			if got := git(t, hub, "show", branch+":b"); got != "two" {
				t.Errorf("the branch has %q", got)
			}
			if got := git(t, hub, "status", "--porcelain"); got != "" {
				t.Errorf("the working tree changed: %s", got)
			}
			lay(t, hub, map[string]string{"c": "three"}) // the second bundle is thin
			third := commitAll(t, hub, "three")
			thin := bundled(t, hub, []Head{{"refs/ac/base", third}}, tips...)
			if err := m.FromBundle(t.Context(), "repo", thin); err != nil {
				t.Fatal(err)
			}
			if has, err := m.Has(t.Context(), "repo", third); err != nil || !has {
				t.Errorf("the mirror lacks the second source: %v", err)
			}
		})
	}
}

func TestTakenBranchesReplaceNothing(t *testing.T) {
	t.Parallel()
	source, base := repository(t, "sha1")
	lay(t, source, map[string]string{"a": "ours"})
	first := commitAll(t, source, "first")
	lay(t, source, map[string]string{"a": "further"})
	second := commitAll(t, source, "second")
	git(t, source, "checkout", "-q", "-b", "other", base)
	lay(t, source, map[string]string{"a": "theirs"})
	other := commitAll(t, source, "other")
	take := func(t *testing.T, hub, ref, commit string) (string, error) {
		taken, err := ImportBundle(t.Context(), environ(), hub, bundled(t, source, []Head{{ref, commit}}, base), wanted())
		if len(taken) != 1 {
			return "", err
		}
		return taken[0].Ref, err
	}
	for name, c := range map[string]struct {
		before, comes, want string
		checkedOut          bool
	}{
		"new":           {"", first, branch, false},
		"same":          {first, first, branch, false},
		"ahead":         {first, second, branch, false},
		"behind":        {second, first, branch + "-2", false},
		"other commits": {other, first, branch + "-2", false},
		"checked out":   {first, second, branch + "-2", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := t.TempDir()
			git(t, hub, "clone", "-q", source, ".")
			if c.before != "" {
				git(t, hub, "update-ref", branch, c.before)
			}
			if c.checkedOut {
				git(t, hub, "worktree", "add", "-q", filepath.Join(t.TempDir(), "tree"), strings.TrimPrefix(branch, "refs/heads/"))
			}
			if got, err := take(t, hub, branch, c.comes); err != nil || got != c.want {
				t.Errorf("it was taken as %q, %v", got, err)
			}
			if c.before != "" && c.want != branch && git(t, hub, "rev-parse", branch) != c.before {
				t.Error("the branch that stood moved")
			}
		})
	}
	t.Run("both taken", func(t *testing.T) {
		t.Parallel()
		hub := t.TempDir()
		git(t, hub, "clone", "-q", source, ".")
		git(t, hub, "update-ref", branch, other)
		git(t, hub, "update-ref", branch+"-2", other)
		if got, err := take(t, hub, branch, first); err == nil {
			t.Errorf("it was taken as %q", got)
		}
	})
	t.Run("what was not committed is replaced", func(t *testing.T) {
		t.Parallel()
		hub := t.TempDir()
		git(t, hub, "clone", "-q", source, ".")
		git(t, hub, "update-ref", wip, other)
		if got, err := take(t, hub, wip, first); err != nil || got != wip || git(t, hub, "rev-parse", wip) != first {
			t.Errorf("it was taken as %q, %v", got, err)
		}
	})
}

// TestHostileBundles imports bundles that no honest worker sends. None of them may set a ref.
func TestHostileBundles(t *testing.T) {
	t.Parallel()
	source, base := repository(t, "sha1")
	blob := git(t, source, "rev-parse", "HEAD:a")
	tag := gitIn(t, source, "object "+base+"\ntype commit\ntag t\ntagger t <t@t> 0 +0000\n\nt\n", "mktag")
	// tree commits a tree that git itself would not create.
	tree := func(entries string) string {
		id := gitIn(t, source, entries, "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
		return gitIn(t, source, "", "commit-tree", "-p", base, "-m", "hostile", id)
	}
	raw := func(id string) string {
		text, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	file := func(name string) string { return "100644 " + name + "\x00" + raw(blob) }
	unsent := gitIn(t, source, "not sent", "hash-object", "-w", "--stdin")
	incomplete := tree("100644 x\x00" + raw(unsent))
	lay(t, source, map[string]string{"b": "two"})
	fine := commitAll(t, source, "two")
	whole := func(t *testing.T) []byte {
		t.Helper()
		text, err := os.ReadFile(bundled(t, source, []Head{{branch, fine}}, base).Name())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	packOf := func(t *testing.T) string {
		_, pack, _ := strings.Cut(string(whole(t)), "\n\n")
		return pack
	}
	of := func(heads ...Head) func(*testing.T) []byte {
		return func(t *testing.T) []byte {
			t.Helper()
			text, err := os.ReadFile(bundled(t, source, heads, base).Name())
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
	for name, make := range map[string]func(*testing.T) []byte{
		"a foreign ref":     of(Head{branch, fine}, Head{"refs/heads/main", fine}),
		"a ref that leaves": of(Head{"refs/heads/../../config", fine}),
		"a ref twice":       of(Head{branch, fine}, Head{branch, base}),
		"no ref":            func(t *testing.T) []byte { return []byte("# v2 git bundle\n\n" + packOf(t)) },
		"no bundle":         func(*testing.T) []byte { return []byte("PACK") },
		"empty":             func(*testing.T) []byte { return nil },
		"an endless head":   func(*testing.T) []byte { return bytes.Repeat([]byte("# v2 git bundle\n"), 1<<16) },
		"a filter": func(t *testing.T) []byte {
			return []byte("# v3 git bundle\n@filter=blob:none\n" + fine + " " + branch + "\n\n" + packOf(t))
		},
		"a pack cut off": func(t *testing.T) []byte { text := whole(t); return text[:len(text)-30] },
		"a pack changed": func(t *testing.T) []byte { text := whole(t); text[len(text)-40] ^= 1; return text },
		"a missing commit": func(t *testing.T) []byte {
			return []byte("# v2 git bundle\n" + strings.Repeat("1", 40) + " " + branch + "\n\n" + packOf(t))
		},
		"a missing need": func(t *testing.T) []byte {
			return []byte("# v2 git bundle\n-" + strings.Repeat("1", 40) + "\n" + fine + " " + branch + "\n\n" + packOf(t))
		},
		"a blob as a branch": of(Head{branch, blob}),
		"a tag as a branch":  of(Head{branch, tag}),
		".git in a tree":     of(Head{branch, tree(file(".git"))}),
		".. in a tree":       of(Head{branch, tree(file(".."))}),
		"a path as a name":   of(Head{branch, tree(file("a/b"))}),
		"hidden .git":        of(Head{branch, tree(file(".g\u200cit"))}),
		"a missing blob": func(t *testing.T) []byte {
			ids := incomplete + "\n" + git(t, source, "rev-parse", incomplete+"^{tree}") + "\n"
			return []byte("# v2 git bundle\n" + incomplete + " " + branch + "\n\n" + gitRaw(t, source, ids, "pack-objects", "--stdout", "-q"))
		},
		"a directory twice":    of(Head{branch, tree(file("x") + file("x"))}),
		"a link as .gitmodule": of(Head{branch, tree("120000 .gitmodules\x00" + raw(blob))}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := t.TempDir()
			git(t, hub, "init", "-q", "--bare")
			git(t, hub, "fetch", "-q", source, base+":refs/heads/main")
			before := git(t, hub, "for-each-ref")
			at := filepath.Join(t.TempDir(), "bundle")
			if err := os.WriteFile(at, make(t), 0o600); err != nil {
				t.Fatal(err)
			}
			open, err := os.Open(at)
			if err != nil {
				t.Fatal(err)
			}
			defer open.Close()
			if taken, err := ImportBundle(t.Context(), environ(), hub, open, wanted()); !errors.Is(err, ErrRefused) || len(taken) > 0 {
				t.Errorf("taken %v, %v", taken, err)
			}
			if after := git(t, hub, "for-each-ref"); after != before {
				t.Errorf("refs changed:\n%s\n%s", before, after)
			}
		})
	}
}
