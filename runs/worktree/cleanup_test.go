package worktree_test

// Worktree cleanup: each rule, and what must survive.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/internal/clock"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// amend changes the record of a run as another program could.
func (h house) amend(t *testing.T, run string, change func(*doc.Run)) {
	t.Helper()
	err := h.Update(t.Context(), func(u *workspace.Unit) error {
		record, err := workspace.LoadIn(u, doc.RunCodec, workspace.RunFile(h.project, run))
		if err != nil {
			return err
		}
		change(&record)
		return workspace.Put(u, doc.RunCodec, workspace.RunFile(h.project, run), record, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// names creates a run that ended 100 hours ago and whose record names a worktree.
func (h house) names(t *testing.T, repo, rel, branch string) string {
	t.Helper()
	made := h.run(t)
	h.amend(t, made.RunID, func(r *doc.Run) {
		r.Status, r.EndedAt = doc.StatusEnded, clock.Stamp(time.Now().Add(-100*time.Hour))
		r.Spec = &doc.Spec{Kind: doc.KindCommand, Argv: []string{"true"}, RepoID: repo, WorktreeRel: rel, WorktreeBranch: branch}
	})
	return made.RunID
}

// worked is like names, but also creates the worktree from a repository.
func (h house) worked(t *testing.T, repo, root string) (run, dir string) {
	t.Helper()
	run = h.names(t, repo, "x", "")
	place, err := worktree.LocationOf(h.project, "task_a", run)
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = worktree.Prepare(t.Context(), h.Workspace, os.Environ(), root, place, "HEAD"); err != nil {
		t.Fatal(err)
	}
	h.amend(t, run, func(r *doc.Run) { r.Spec.WorktreeRel, r.Spec.WorktreeBranch = place.Rel, place.Branch })
	return run, dir
}

func (h house) cleanUp(t *testing.T, change ...func(*worktree.CleanUp)) worktree.Report {
	t.Helper()
	machine, err := h.Machine()
	if err != nil {
		t.Fatal(err)
	}
	order := worktree.CleanUp{
		Workspace: h.Workspace, Machine: machine, Environ: os.Environ(), Dir: h.Dir(), MaxAge: 72,
		Live: func(project, run string) bool { return session.RunAlive(h.Workspace, project, run) },
	}
	for _, c := range change {
		c(&order)
	}
	report, err := order.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if sum := report.Removed + report.Missing + report.Failed + report.Kept; sum != report.Scanned || len(report.Items) != report.Scanned {
		t.Errorf("counts do not add up: %+v", report)
	}
	return report
}

func dryRun(c *worktree.CleanUp) { c.DryRun = true }

// want checks the only item of a report.
func want(t *testing.T, report worktree.Report, action, reason string, eligible bool) {
	t.Helper()
	if len(report.Items) != 1 {
		t.Fatalf("%d items: %+v", len(report.Items), report.Items)
	}
	item := report.Items[0]
	if item.Action != action || !strings.Contains(item.Reason, reason) || (report.Eligible == 1) != eligible {
		t.Errorf("%s (%s), eligible %d; want %s (%s), eligible %v", item.Action, item.Reason, report.Eligible, action, reason, eligible)
	}
}

func TestCleanUpRemovesWhatIsCleanAndOld(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	h.mapRepo(t, "alpha", repo)
	run, dir := h.worked(t, "alpha", repo)
	sprung := filepath.Join(t.TempDir(), "sprung")
	git(t, repo, "config", "core.fsmonitor", "touch "+sprung)

	want(t, h.cleanUp(t, dryRun), worktree.Kept, "would be removed", true)
	if !exists(dir) {
		t.Fatal("a dry run removed the worktree")
	}
	report := h.cleanUp(t)
	want(t, report, worktree.Removed, "", true)
	item := report.Items[0]
	if item.WorktreeAbs != dir || *item.RepoID != "alpha" || *item.Branch != "ac/"+h.project+"/task_a/"+run || item.EndedAt == nil || item.Status != "ended" {
		t.Errorf("item %+v", item)
	}
	if exists(filepath.Join(h.Dir(), ".local/worktrees", h.project)) || !exists(filepath.Join(h.Dir(), ".local/worktrees")) {
		t.Error("the empty parents, and only they, were to go")
	}
	if list := git(t, repo, "-c", "core.fsmonitor=false", "worktree", "list"); strings.Contains(list, run) {
		t.Errorf("git still knows the worktree: %s", list)
	}
	git(t, repo, "rev-parse", "--verify", *item.Branch) // the branch stays
	if exists(sprung) {
		t.Error("a program of the repository's settings was run")
	}
	want(t, h.cleanUp(t), worktree.Missing, "", true)
}

func TestCleanUpKeepsWhatIsInUse(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	h.mapRepo(t, "alpha", repo)
	run, dir := h.worked(t, "alpha", repo)
	want(t, h.cleanUp(t, func(c *worktree.CleanUp) { c.MaxAge = 101 }), worktree.Kept, "too young", false)
	want(t, h.cleanUp(t, func(c *worktree.CleanUp) { c.MaxAge = 1e300 }), worktree.Kept, "too young", false)
	want(t, h.cleanUp(t, func(c *worktree.CleanUp) { c.Live = func(string, string) bool { return true } }), worktree.Kept, "active", false)
	h.amend(t, run, func(r *doc.Run) { r.EndedAt = clock.Stamp(time.Now().Add(time.Hour)) })
	want(t, h.cleanUp(t, func(c *worktree.CleanUp) { c.MaxAge = 0 }), worktree.Kept, "too young", false)
	// Without an end time, the run's start counts: just now.
	h.amend(t, run, func(r *doc.Run) { r.EndedAt = "" })
	report := h.cleanUp(t)
	want(t, report, worktree.Kept, "too young", false)
	if report.Items[0].EndedAt != nil {
		t.Errorf("ended at %s", *report.Items[0].EndedAt)
	}
	h.amend(t, run, func(r *doc.Run) { r.Status = doc.StatusRunning })
	want(t, h.cleanUp(t, func(c *worktree.CleanUp) { c.MaxAge = 0 }), worktree.Kept, "active", false)
	if !exists(dir) {
		t.Error("it is gone")
	}
}

// TestCleanUpKeepsTheWorktreeOfALiveSession checks that a live session keeps its worktree even
// if its run's record says that it ended.
func TestCleanUpKeepsTheWorktreeOfALiveSession(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	h.mapRepo(t, "alpha", repo)
	h.task(t, "task_a", "scope: {requires_worktree_isolation: true}\n")
	made := h.run(t)
	h.begin(t, session.Order{RunID: made.RunID, RepoID: "alpha", TaskID: "task_a", Argv: []string{"sleep", "100"}})
	await(t, "the worktree", func() bool {
		spec := h.record(t, made.RunID).Spec
		return spec != nil && spec.WorktreeRel != ""
	})
	always := func(c *worktree.CleanUp) { c.MaxAge = 0 }
	h.amend(t, made.RunID, func(r *doc.Run) { r.Status, r.EndedAt = doc.StatusEnded, clock.Stamp(time.Now().Add(-time.Hour)) })
	want(t, h.cleanUp(t, always), worktree.Kept, "active", false)
	if _, err := session.Stop(t.Context(), h.Workspace, session.LocalRef(made.RunID)); err != nil {
		t.Fatal(err)
	}
	h.collect(t, made.RunID)
	want(t, h.cleanUp(t, always), worktree.Removed, "", true)
}

func TestCleanUpKeepsWork(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	h.mapRepo(t, "alpha", repo)
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		reason string
	}{
		{"changed file", func(t *testing.T, dir string) { put(t, filepath.Join(dir, "a.txt"), "changed\n") }, "uncommitted"},
		{"staged file", func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "n"), "n")
			git(t, dir, "add", "n")
		}, "uncommitted"},
		{"deleted file", func(_ *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "a.txt")) }, "uncommitted"},
		{"untracked file", func(t *testing.T, dir string) { put(t, filepath.Join(dir, "n"), "n") }, "uncommitted"},
		{"untracked file that settings hide", func(t *testing.T, dir string) {
			git(t, dir, "config", "extensions.worktreeConfig", "true")
			git(t, dir, "config", "--worktree", "status.showUntrackedFiles", "no")
			put(t, filepath.Join(dir, "n"), "n")
		}, "uncommitted"},
		{"commit on no branch", func(t *testing.T, dir string) {
			git(t, dir, "checkout", "--quiet", "--detach")
			git(t, dir, "commit", "--quiet", "--allow-empty", "-m", "Alone")
		}, "on no branch"},
		{".git that names nothing", func(t *testing.T, dir string) { put(t, filepath.Join(dir, ".git"), "gitdir: /nowhere\n") }, "cannot be read"},
		{".git that is empty", func(t *testing.T, dir string) { put(t, filepath.Join(dir, ".git"), "") }, "cannot be read"},
		{".git that is an empty directory", func(_ *testing.T, dir string) {
			_ = os.Remove(filepath.Join(dir, ".git"))
			_ = os.Mkdir(filepath.Join(dir, ".git"), 0o755)
		}, "cannot be read"},
		{".git that leads in circles", func(_ *testing.T, dir string) {
			_ = os.Remove(filepath.Join(dir, ".git"))
			_ = os.Symlink(".git", filepath.Join(dir, ".git"))
		}, "cannot be read"},
		{"repository within", func(t *testing.T, dir string) {
			_ = os.Remove(filepath.Join(dir, ".git"))
			git(t, filepath.Join(dir, "sub"), "init", "--quiet")
		}, "contains the repository"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run, dir := h.worked(t, "alpha", repo)
			c.change(t, dir)
			for _, options := range [][]func(*worktree.CleanUp){{dryRun}, nil} {
				report := h.cleanUp(t, options...)
				i := slices.IndexFunc(report.Items, func(item worktree.Item) bool { return item.RunID == run })
				report.Items = report.Items[i : i+1]
				if got := report.Items[0]; got.Action != worktree.Kept || !strings.Contains(got.Reason, c.reason) {
					t.Errorf("%s (%s), want kept (%s)", got.Action, got.Reason, c.reason)
				}
			}
			if !exists(filepath.Join(dir, "sub")) {
				t.Error("it is gone")
			}
		})
	}
}

// TestCleanUpInsideAnotherRepository checks that a damaged worktree is not taken for a clean
// part of a repository above it, as when a workspace is kept in git.
func TestCleanUpInsideAnotherRepository(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	git(t, h.Dir(), "init", "--quiet")
	put(t, filepath.Join(h.Dir(), ".git", "info", "exclude"), "*\n")
	_, dir := h.worked(t, "alpha", repo)
	put(t, filepath.Join(dir, "work"), "work")
	_ = os.Remove(filepath.Join(dir, ".git"))
	_ = os.Mkdir(filepath.Join(dir, ".git"), 0o755)
	want(t, h.cleanUp(t), worktree.Kept, "cannot be read", true)
	if !exists(filepath.Join(dir, "work")) {
		t.Error("the work is gone")
	}
}

func TestCleanUpWithoutRepository(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	// Not mapped: the tree is deleted, and its repository forgets it.
	run, dir := h.worked(t, "alpha", repo)
	want(t, h.cleanUp(t), worktree.Removed, "", true)
	if exists(dir) || strings.Contains(git(t, repo, "worktree", "list", "--porcelain"), run) {
		t.Error("the worktree, or what git knew of it, is still there")
	}
	// Mapped, but without .git: no longer a worktree, so it is deleted.
	h.mapRepo(t, "beta", repo)
	run, dir = h.worked(t, "beta", repo)
	_ = os.Remove(filepath.Join(dir, ".git"))
	report := h.cleanUp(t)
	if report.Removed != 1 || report.Missing != 1 || exists(dir) {
		t.Errorf("%+v", report)
	}
	if strings.Contains(git(t, repo, "worktree", "list", "--porcelain"), run) {
		t.Error("git still knows the worktree")
	}
}

func TestCleanUpTellsWhatGitSaid(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	h.mapRepo(t, "alpha", repo)
	_, dir := h.worked(t, "alpha", repo)
	git(t, repo, "worktree", "lock", dir)
	want(t, h.cleanUp(t), worktree.Failed, "locked", true)
	h.mapRepo(t, "alpha", repository(t))
	want(t, h.cleanUp(t), worktree.Failed, "not a working tree", true)
	h.mapRepo(t, "alpha", repo)
	git(t, repo, "worktree", "unlock", dir)
	put(t, filepath.Join(dir, ".git"), "gitdir: "+filepath.Join(repo, ".git")+"\n")
	want(t, h.cleanUp(t), worktree.Failed, "does not point back", true)
	if !exists(dir) {
		t.Error("it is gone")
	}
}

func TestCleanUpStaysInside(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	area := filepath.Join(h.Dir(), ".local", "worktrees")
	outside := filepath.Join(resolved(t, t.TempDir()), "precious")
	for _, dir := range []string{outside, filepath.Join(area, "real", "task", "run"), filepath.Join(h.Dir(), ".local", "worktrees-other", "x")} {
		put(t, filepath.Join(dir, "file"), "precious")
	}
	put(t, filepath.Join(area, "plain-file"), "x")
	for link, target := range map[string]string{"out": outside, "parent": filepath.Dir(outside), "in": filepath.Join(area, "real")} {
		if err := os.Symlink(target, filepath.Join(area, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, rel := range []string{
		".", "..", ".local", ".local/worktrees", ".local/worktrees/", ".local/worktrees/.", ".local/worktrees/x/..", "work",
		".local/worktrees/../../work", ".local/worktrees-other/x", ".local/worktrees/../worktrees-other/x", "../ws/.local/worktrees/real",
		outside, "/", ".local/worktrees/out", ".local/worktrees/parent/precious", ".local/worktrees/in/task/run", ".local/worktrees/plain-file",
	} {
		t.Run(strings.ReplaceAll(rel, "/", "_"), func(t *testing.T) {
			run := h.names(t, "", rel, "")
			defer h.amend(t, run, func(r *doc.Run) { r.Spec = nil })
			for _, options := range [][]func(*worktree.CleanUp){{dryRun}, nil} {
				want(t, h.cleanUp(t, options...), worktree.Failed, "outside the worktree area", true)
			}
		})
	}
	for _, dir := range []string{outside, filepath.Join(area, "real", "task", "run"), filepath.Join(h.Dir(), ".local", "worktrees-other", "x")} {
		if !exists(filepath.Join(dir, "file")) {
			t.Errorf("%s is gone", dir)
		}
	}
	if !exists(filepath.Join(area, "plain-file")) || !exists(filepath.Join(h.Dir(), "company", "company.yaml")) {
		t.Error("more is gone")
	}
}

// TestCleanUpKeepsSharedPlaces checks that a record naming a directory of other runs removes
// nothing of theirs.
func TestCleanUpKeepsSharedPlaces(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	put(t, filepath.Join(h.Dir(), ".local/worktrees/p/t/live/file"), "x")
	h.amend(t, h.names(t, "", ".local/worktrees/p/t/live", ""), func(r *doc.Run) { r.Status = doc.StatusRunning })
	for _, rel := range []string{".local/worktrees/p", ".local/worktrees/p/t", ".local/worktrees/p/t/live", ".local/worktrees/p/t/live/sub/.."} {
		h.names(t, "", rel, "")
	}
	if report := h.cleanUp(t); report.Kept != 5 || !exists(filepath.Join(h.Dir(), ".local/worktrees/p/t/live/file")) {
		t.Errorf("%+v", report)
	}
}

// TestCleanUpOfOneWorktreeOfManyRuns checks that a worktree shared by a job's attempts or a
// workflow is removed once, and only when its newest run is old enough.
func TestCleanUpOfOneWorktreeOfManyRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	repo := repository(t)
	h.mapRepo(t, "main", repo)
	first, dir := h.worked(t, "main", repo)
	rel := h.record(t, first).Spec.WorktreeRel
	h.names(t, "main", rel, "")
	flow := h.run(t).RunID
	h.amend(t, flow, func(r *doc.Run) { r.WorktreeRel = rel })
	if report := h.cleanUp(t); report.Removed != 0 || report.Kept != 3 || !exists(dir) {
		t.Fatalf("a run of the worktree goes on: %+v", report)
	}
	h.amend(t, flow, func(r *doc.Run) {
		r.Status, r.EndedAt = doc.StatusEnded, clock.Stamp(time.Now().Add(-time.Hour))
	})
	if report := h.cleanUp(t); report.Removed != 0 || !exists(dir) {
		t.Fatalf("the newest run is too young: %+v", report)
	}
	h.amend(t, flow, func(r *doc.Run) { r.EndedAt = clock.Stamp(time.Now().Add(-100 * time.Hour)) })
	if report := h.cleanUp(t); report.Removed != 1 || report.Missing != 2 || exists(dir) {
		t.Errorf("%+v", report)
	}
}

func TestCleanUpPassesOverWhatIsNone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run(t)
	put(t, filepath.Join(h.Dir(), workspace.RunsDir(h.project), "run_broken", "run.yaml"), "type: run\n")
	put(t, filepath.Join(h.Dir(), ".local/worktrees/orphan/t/r/file"), "x")
	h.names(t, "", ".local/worktrees/a/b/c", "")
	if report := h.cleanUp(t); report.Scanned != 1 || report.Missing != 1 {
		t.Errorf("%+v", report)
	}
	other := func(c *worktree.CleanUp) { c.ProjectID = "proj_none" }
	if report := h.cleanUp(t, other); report.Scanned != 0 || report.Items == nil {
		t.Errorf("%+v", report)
	}
	if !exists(filepath.Join(h.Dir(), ".local/worktrees/orphan/t/r/file")) {
		t.Error("a worktree of no known run was removed")
	}
}

func TestCleanUpCanBeCanceled(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	_, dir := h.worked(t, "alpha", repo)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := worktree.CleanUp{Workspace: h.Workspace, Environ: os.Environ(), Dir: h.Dir(), Live: func(string, string) bool { return false }}.Run(ctx)
	if !errors.Is(err, context.Canceled) || !exists(dir) {
		t.Errorf("%v, still there: %v", err, exists(dir))
	}
}
