package changes_test

// Changes of a run, read from worktrees and branches that the real git created.

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ac/internal/fault"
	"ac/internal/proc/proctest"
	"ac/runs"
	"ac/runs/changes"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.org"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// stage is a workspace with a repository and a run with a worktree of it.
type stage struct {
	w                  *workspace.Workspace
	project, run       string
	repo, tree, branch string
	alive              bool
}

func newStage(t *testing.T) *stage {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{repo: filepath.Join(top, "repo")}
	put(t, s.repo, "a.txt", "one\n")
	put(t, s.repo, "sub/b.txt", "two\n")
	put(t, s.repo, "gone.txt", "bye\n")
	put(t, s.repo, ".gitignore", "*.log\n")
	git(t, s.repo, "init", "--quiet", "--initial-branch=main")
	git(t, s.repo, "add", ".")
	git(t, s.repo, "commit", "--quiet", "-m", "First")
	dir, env := filepath.Join(top, "ws"), workspace.SystemEnv()
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	if s.w, err = workspace.Open(env, dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.w.Close() })
	if s.project, err = s.w.NewProject(t.Context(), "Checkout"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.w.SetRepoRoot(t.Context(), "repo", s.repo, true); err != nil {
		t.Fatal(err)
	}
	made, err := runs.Create(t.Context(), s.w, s.project, "agent_a", "cmd")
	if err != nil {
		t.Fatal(err)
	}
	s.run = made.RunID
	place, err := worktree.LocationOf(s.project, "task_a", s.run)
	if err != nil {
		t.Fatal(err)
	}
	s.branch = place.Branch
	if s.tree, err = worktree.Prepare(t.Context(), s.w, os.Environ(), s.repo, place, "HEAD"); err != nil {
		t.Fatal(err)
	}
	s.record(t, func(r *doc.Run) {
		r.Spec = &doc.Spec{Kind: doc.KindCommand, Argv: []string{"true"}, RepoID: "repo", WorktreeRel: place.Rel, WorktreeBranch: place.Branch}
	})
	return s
}

func (s *stage) record(t *testing.T, change func(*doc.Run)) {
	t.Helper()
	file := workspace.RunFile(s.project, s.run)
	err := s.w.Update(t.Context(), func(u *workspace.Unit) error {
		r, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil {
			return err
		}
		change(&r)
		return workspace.Put(u, doc.RunCodec, file, r, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stage) open(t *testing.T) (*changes.Set, error) {
	t.Helper()
	machine, err := s.w.Machine()
	if err != nil {
		t.Fatal(err)
	}
	r := changes.Reader{Workspace: s.w, Machine: machine, Environ: os.Environ(), Alive: func(string, string) bool { return s.alive }}
	set, err := r.Open(t.Context(), s.project, s.run)
	if err == nil {
		t.Cleanup(func() { _ = set.Close() })
	}
	return set, err
}

// read returns a set as a map from path to old and new content.
func read(t *testing.T, set *changes.Set) map[string]string {
	t.Helper()
	side := func(text []byte) string {
		if text == nil {
			return "-"
		}
		return string(text)
	}
	found := map[string]string{}
	err := set.Each(t.Context(), set.Files, func(f changes.File, c changes.Content) error {
		found[f.Path] = side(c.From) + ">" + side(c.New)
		if c.TooLarge {
			found[f.Path] = "too large"
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (s *stage) work(t *testing.T) {
	t.Helper()
	put(t, s.tree, "a.txt", "one, committed\n")
	git(t, s.tree, "commit", "--quiet", "-am", "Work")
	put(t, s.tree, "a.txt", "one, and more\n")
	put(t, s.tree, "new dir/ü.txt", "new\n")
	put(t, s.tree, "built.log", "ignored\n")
	put(t, s.tree, "bin", "a\x00b")
	if err := os.Remove(filepath.Join(s.tree, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.txt", filepath.Join(s.tree, "link")); err != nil {
		t.Fatal(err)
	}
}

func TestWorktree(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(t)
	set, err := s.open(t)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.txt": "one\n>one, and more\n", "gone.txt": "bye\n>-", "new dir/ü.txt": "->new\n", "bin": "->a\x00b", "link": "->-",
	}
	if got := read(t, set); !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if set.State != changes.Kept || set.Base != git(t, s.repo, "rev-parse", "main") || set.RepoID != "repo" {
		t.Errorf("%+v", set)
	}
	s.alive = true
	if set, err = s.open(t); err != nil || set.State != changes.Live {
		t.Errorf("%v", err)
	}
	s.patch(t, set)
}

// patch checks that applying a set's patch to the repository reproduces the worktree.
func (s *stage) patch(t *testing.T, set *changes.Set) {
	t.Helper()
	text, err := set.Patch(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, s.repo, "apply", file)
	for _, name := range []string{"a.txt", "bin", "new dir/ü.txt", "link"} {
		got, err := os.ReadFile(filepath.Join(s.repo, name))
		want, wantErr := os.ReadFile(filepath.Join(s.tree, name))
		if err != nil || string(got) != string(want) || wantErr != nil && s.tree != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(s.repo, "gone.txt")); !os.IsNotExist(err) {
		t.Errorf("gone.txt: %v", err)
	}
	if _, err := set.Patch(t.Context(), 100); err == nil || !strings.Contains(err.Error(), worktree.ErrTooLong.Error()) {
		t.Errorf("a bound: %v", err)
	}
}

// TestTheBaseIsKept checks that changes start at the run's recorded base commit, whatever was
// merged since.
func TestTheBaseIsKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	base := git(t, s.repo, "rev-parse", "main")
	put(t, s.tree, "a.txt", "one, committed\n")
	git(t, s.tree, "commit", "--quiet", "-am", "Work")
	git(t, s.repo, "merge", "--quiet", "--ff-only", s.branch)
	if set, err := s.open(t); err != nil || len(set.Files) != 0 {
		t.Errorf("without a note: %v, %v", set, err)
	}
	s.record(t, func(r *doc.Run) { r.WorktreeBase = base })
	if set, err := s.open(t); err != nil || len(set.Files) != 1 || set.Base != base {
		t.Errorf("with a note: %v, %v", set, err)
	}
	s.record(t, func(r *doc.Run) { r.WorktreeBase = "--output=x" })
	if _, err := s.open(t); !fault.Is(err, fault.InvalidFile) {
		t.Errorf("a note that is no commit: %v", err)
	}
}

func TestBranch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.work(t)
	git(t, s.tree, "add", "--all")
	git(t, s.tree, "commit", "--quiet", "-m", "All")
	git(t, s.repo, "worktree", "remove", "--force", s.tree)
	set, err := s.open(t)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.txt": "one\n>one, and more\n", "gone.txt": "bye\n>-", "new dir/ü.txt": "->new\n", "bin": "->a\x00b", "link": "->-",
	}
	if got := read(t, set); set.State != changes.Branch || !maps.Equal(got, want) {
		t.Errorf("%s: %q", set.State, got)
	}
	git(t, s.repo, "update-ref", "refs/ac/wip/"+s.run, "main")
	if set, err := s.open(t); err != nil || len(set.Files) != 0 {
		t.Errorf("what was saved of another machine comes first: %v, %v", set, err)
	}
	git(t, s.repo, "update-ref", "-d", "refs/ac/wip/"+s.run)
	git(t, s.repo, "branch", "-D", s.branch)
	if _, err := s.open(t); !fault.Is(err, fault.NoWorktree) {
		t.Errorf("without a branch: %v", err)
	}
}

// TestLineEnds checks that committed content is read with the line endings of a working tree.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	put(t, s.repo, ".gitattributes", "*.txt text eol=crlf\n")
	git(t, s.repo, "add", ".")
	git(t, s.repo, "commit", "--quiet", "-m", "Line ends")
	git(t, s.tree, "merge", "--quiet", "main")
	put(t, s.tree, "a.txt", "one\r\nmore\r\n")
	set, err := s.open(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, set)["a.txt"]; got != "one\r\n>one\r\nmore\r\n" {
		t.Errorf("%q", got)
	}
}

// TestNothingIsRun checks that reading changes runs none of the programs that the repository's
// configuration names.
func TestNothingIsRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	put(t, s.tree, "a.txt", "one, too\n")
	mark := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "run")
	if err := proctest.WriteProgram(script, []byte("#!/bin/sh\ntouch "+mark+"\ncat\n")); err != nil {
		t.Fatal(err)
	}
	put(t, s.tree, ".gitattributes", "*.txt filter=evil diff=evil\n")
	for _, key := range []string{"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "diff.external", "core.fsmonitor", "core.pager"} {
		git(t, s.repo, "config", key, script)
	}
	before := git(t, s.repo, "config", "--get-regexp", "evil")
	set, err := s.open(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, set)["a.txt"]; got != "one\n>one, too\n" {
		t.Errorf("%q", got)
	}
	if _, err := set.Patch(t.Context(), 1<<20); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a program of the repository was run")
	}
	if before == "" {
		t.Fatal("nothing was configured")
	}
}

func TestLargeAndMany(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	put(t, s.tree, "large", strings.Repeat("x", changes.MaxFile+1))
	put(t, s.tree, "full", strings.Repeat("x", changes.MaxFile))
	for i := range 300 {
		put(t, s.tree, fmt.Sprintf("many/%03d", i), fmt.Sprint(i))
	}
	set, err := s.open(t)
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, set)
	if len(got) != 302 || got["large"] != "too large" || got["many/017"] != "->17" || len(got["full"]) != changes.MaxFile+2 {
		t.Errorf("%d files", len(got))
	}
}

func TestNoWorktree(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.record(t, func(r *doc.Run) { r.Spec.WorktreeRel, r.Spec.WorktreeBranch = "", "" })
	if _, err := s.open(t); !fault.Is(err, fault.NoWorktree) {
		t.Errorf("%v", err)
	}
	s.record(t, func(r *doc.Run) { r.Spec.WorktreeRel = "../elsewhere" })
	if _, err := s.open(t); !fault.Is(err, fault.Denied) {
		t.Errorf("%v", err)
	}
	s.run = "run_none"
	if _, err := s.open(t); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
}
