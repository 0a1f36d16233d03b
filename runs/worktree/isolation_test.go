package worktree_test

// Which runs get a worktree, where it is, and where in it a run may work.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/internal/fault"
	"ac/runs/worktree"
	"ac/workspace/doc"
)

func TestIsolated(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.task(t, "absent", "")
	h.task(t, "empty", "scope: {}\n")
	h.task(t, "yes", "scope:\n  requires_worktree_isolation: true\n")
	h.task(t, "no", "scope:\n  repo_id: alpha\n  requires_worktree_isolation: false\n")
	for _, c := range []struct {
		task, milestone string
		want            bool
	}{
		{"absent", "", false}, {"absent", "ms_code", true}, {"absent", "ms_plan", false},
		{"empty", "", false}, {"empty", "ms_code", true}, {"empty", "ms_plan", false},
		{"yes", "", true}, {"yes", "ms_code", true}, {"yes", "ms_plan", true},
		{"no", "", false}, {"no", "ms_code", false}, {"no", "ms_plan", false},
	} {
		got, err := worktree.NeedsWorktree(h.Workspace, h.project, c.task, c.milestone)
		if err != nil || got != c.want {
			t.Errorf("task %s, milestone %q: %v, %v; want %v", c.task, c.milestone, got, err, c.want)
		}
	}
	for _, task := range []string{"yes", "no"} {
		if _, err := worktree.NeedsWorktree(h.Workspace, h.project, task, "ms_x"); !fault.Is(err, fault.NotFound) {
			t.Errorf("task %s with an unknown milestone: %v", task, err)
		}
	}
}

func TestLocationOf(t *testing.T) {
	t.Parallel()
	got, err := worktree.LocationOf("p", "--task", "run")
	if want := (worktree.Location{Rel: ".local/worktrees/p/--task/run", Branch: "ac/p/--task/run"}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for _, id := range []string{"", ".", "..", "a/b", `a\b`, "a\x00b", "a\nb", strings.Repeat("x", 201)} {
		for _, ids := range [][3]string{{id, "t", "r"}, {"p", id, "r"}, {"p", "t", id}} {
			if place, err := worktree.LocationOf(ids[0], ids[1], ids[2]); err == nil {
				t.Errorf("%q named %+v", ids, place)
			}
		}
	}
}

func TestPrepareRefusesOtherPlaces(t *testing.T) {
	t.Parallel()
	repo, place := repository(t), worktree.Location{Rel: ".local/worktrees/p/t/r", Branch: "ac/p/t/r"}
	for name, at := range map[string]string{"area": ".local/worktrees", "project": ".local/worktrees/p", "run": place.Rel} {
		for _, target := range []string{t.TempDir(), "../company"} {
			h := newHouse(t)
			link := filepath.Join(h.Dir(), at)
			if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, link); err != nil {
				t.Fatal(err)
			}
			if dir, err := worktree.Prepare(t.Context(), h.Workspace, os.Environ(), repo, place, "HEAD"); err == nil {
				t.Errorf("%s is a link to %s: worktree at %s", name, target, dir)
			}
		}
	}
	h := newHouse(t)
	work := filepath.Join(h.Dir(), place.Rel, "work")
	put(t, work, "work")
	if _, err := worktree.Prepare(t.Context(), h.Workspace, os.Environ(), repo, place, "HEAD"); !fault.Is(err, fault.Conflict) || !exists(work) {
		t.Errorf("a place that is taken: %v, still there: %v", err, exists(work))
	}
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	place := worktree.Location{Rel: ".local/worktrees/p/t/r", Branch: "ac/p/t/r"}
	dir, err := worktree.Prepare(t.Context(), h.Workspace, os.Environ(), repo, place, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(dir, "a.txt")) || git(t, dir, "symbolic-ref", "--short", "HEAD") != place.Branch {
		t.Error("the worktree is not what it should be")
	}
	if err := worktree.Discard(t.Context(), h.Workspace, os.Environ(), repo, place); err != nil {
		t.Fatal(err)
	}
	if exists(filepath.Join(h.Dir(), ".local/worktrees/p")) || strings.Contains(git(t, repo, "worktree", "list"), "/p/t/r") {
		t.Error("something of the worktree is left")
	}
}

func TestConfine(t *testing.T) {
	t.Parallel()
	root := resolved(t, t.TempDir())
	outside := resolved(t, t.TempDir())
	put(t, filepath.Join(root, "in", "deep", "x"), "")
	put(t, filepath.Join(root+"-beside", "x"), "")
	t.Cleanup(func() { _ = os.RemoveAll(root + "-beside") })
	for link, target := range map[string]string{
		"inside": filepath.Join(root, "in"), "out": outside, "beside": root + "-beside", "dangling": filepath.Join(root, "none"),
		"in/up": filepath.Join(root, "..", filepath.Base(root), "in"),
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ rel, want string }{
		{"", root}, {".", root}, {"in/deep", filepath.Join(root, "in", "deep")},
		{"inside/deep", filepath.Join(root, "in", "deep")}, {"in/up", filepath.Join(root, "in")},
	} {
		if got, err := worktree.Confine(root, c.rel); err != nil || got != c.want {
			t.Errorf("%q: %s, %v; want %s", c.rel, got, err, c.want)
		}
	}
	for _, rel := range []string{"..", "in/../..", outside, "out", "beside", "dangling", "none", "in/deep/x"} {
		if got, err := worktree.Confine(root, rel); err == nil {
			t.Errorf("%q led to %s", rel, got)
		}
	}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	dir := resolved(t, t.TempDir())
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	machine := doc.Machine{RepoRoots: map[string]string{"link": link, "gone": filepath.Join(dir, "gone"), "relative": "x"}}
	if got, err := worktree.Root(machine, "link"); err != nil || got != dir {
		t.Errorf("%s, %v", got, err)
	}
	for _, repo := range []string{"gone", "relative", "unknown"} {
		if got, err := worktree.Root(machine, repo); err == nil {
			t.Errorf("%s is at %s", repo, got)
		}
	}
}

// TestFiltersOfTheRepository checks that files under a filter from the repository's own
// configuration count as unchanged in a new worktree, although inspecting a worktree never runs
// the filter.
func TestFiltersOfTheRepository(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	git(t, repo, "config", "filter.up.clean", "tr a-z A-Z")
	git(t, repo, "config", "filter.up.smudge", "tr A-Z a-z")
	put(t, filepath.Join(repo, ".gitattributes"), "*.up filter=up\n")
	for _, name := range []string{"a.up", "b.up", "c.up"} {
		put(t, filepath.Join(repo, name), "text\n")
	}
	git(t, repo, "add", ".")
	git(t, repo, "commit", "--quiet", "-m", "Filtered")
	for _, run := range []string{"r1", "r2", "r3", "r4", "r5"} { // whether it fails depends on timing, so try several
		place := worktree.Location{Rel: ".local/worktrees/p/t/" + run, Branch: "ac/p/t/" + run}
		dir, err := worktree.Prepare(t.Context(), h.Workspace, os.Environ(), repo, place, "HEAD")
		if err != nil {
			t.Fatal(err)
		}
		commit, err := worktree.Snapshot(t.Context(), h.Workspace, os.Environ(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if changed := git(t, dir, "diff-tree", "-r", "--name-only", "HEAD", commit); changed != "" {
			t.Errorf("%s: changed %q", run, changed)
		}
	}
}

// TestPrepareBesideAnother checks that Prepare waits while git creates another worktree of the
// repository. Git fails if it reads that worktree's incomplete files.
func TestPrepareBesideAnother(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	other := filepath.Join(repo, ".git", "worktrees", "other")
	put(t, filepath.Join(other, "gitdir"), filepath.Join(t.TempDir(), ".git")+"\n")
	put(t, filepath.Join(other, "HEAD"), git(t, repo, "rev-parse", "HEAD")+"\n")
	put(t, filepath.Join(other, "locked"), "initializing\n")
	half := filepath.Join(other, "commondir")
	put(t, half, "")
	written := make(chan error, 1)
	time.AfterFunc(300*time.Millisecond, func() { written <- os.WriteFile(half, []byte("../..\n"), 0o600) })
	place := worktree.Location{Rel: ".local/worktrees/p/t/r", Branch: "ac/p/t/r"}
	dir, err := worktree.Prepare(t.Context(), h.Workspace, os.Environ(), repo, place, git(t, repo, "rev-parse", "HEAD"))
	if err != nil || !exists(filepath.Join(dir, "a.txt")) {
		t.Errorf("%s: %v", dir, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
