package worktree

// Removing the worktrees of finished runs.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ac/internal/clock"
	"ac/workspace"
	"ac/workspace/doc"
)

// Actions of an Item.
const (
	Kept    = "kept"
	Removed = "removed"
	Missing = "missing"
	Failed  = "failed"
)

// Item is the outcome of a clean-up for one worktree.
type Item struct {
	ProjectID   string  `json:"project_id"`
	RunID       string  `json:"run_id"`
	RepoID      *string `json:"repo_id"`
	WorktreeRel string  `json:"worktree_relpath"`
	WorktreeAbs string  `json:"worktree_abs"`
	Branch      *string `json:"branch"`
	Status      string  `json:"status"`
	EndedAt     *string `json:"ended_at"`
	Action      string  `json:"action"`
	Reason      string  `json:"reason"`
}

// Report is the outcome of a clean-up, per worktree and in total.
type Report struct {
	Scanned  int    `json:"scanned"`
	Eligible int    `json:"eligible"`
	Removed  int    `json:"removed"`
	Missing  int    `json:"missing"`
	Failed   int    `json:"failed"`
	Kept     int    `json:"kept"`
	Items    []Item `json:"items"`
}

func (r *Report) add(item Item, eligible bool) {
	r.Scanned++
	if eligible {
		r.Eligible++
	}
	switch item.Action {
	case Kept:
		r.Kept++
	case Removed:
		r.Removed++
	case Missing:
		r.Missing++
	case Failed:
		r.Failed++
	}
	r.Items = append(r.Items, item)
}

// CleanUp holds the parameters of a clean-up.
type CleanUp struct {
	Workspace *workspace.Workspace
	Machine   doc.Machine
	Environ   []string // the environment of git
	Dir       string   // the caller's path of the workspace, for reports
	ProjectID string   // only this project; "" for all projects
	MaxAge    float64  // hours since the end of a run
	DryRun    bool
	// Live reports whether a process still executes a run.
	Live func(project, run string) bool
}

// Run examines the worktrees of all runs. It removes those that are certainly garbage: the run
// ended more than MaxAge ago, the worktree has no uncommitted work, and it lies in Area. A
// failure with one worktree is reported in its item. Run is idempotent and safe to run in
// several processes at once.
func (c CleanUp) Run(ctx context.Context) (Report, error) {
	report := Report{Items: []Item{}}
	known, err := inventory(c.Workspace)
	if err != nil {
		return report, err
	}
	for _, run := range known.runs {
		if c.ProjectID != "" && run.project != c.ProjectID {
			continue
		}
		item := Item{
			ProjectID: run.project, RunID: run.id, RepoID: orNull(run.record.Spec.RepoID), WorktreeRel: run.record.Spec.WorktreeRel,
			WorktreeAbs: filepath.Join(c.Dir, filepath.FromSlash(run.record.Spec.WorktreeRel)), Branch: orNull(run.record.Spec.WorktreeBranch),
			Status: run.record.Status, EndedAt: orNull(run.record.EndedAt),
		}
		eligible := false
		item.Action, item.Reason = Kept, c.active(run)
		if item.Reason == "" {
			eligible = true
			item.Action, item.Reason = c.judge(ctx, &known, run)
		}
		if err := ctx.Err(); err != nil {
			return report, context.Cause(ctx)
		}
		report.add(item, eligible)
	}
	return report, nil
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// active returns why a run is not yet old enough, "" if it is.
func (c CleanUp) active(run owner) string {
	if !doc.Terminal(run.record.Status) || c.Live(run.project, run.id) {
		return "still active"
	}
	text := run.record.EndedAt
	if text == "" {
		text = run.record.CreatedAt
	}
	ended, ok := clock.Parse(text)
	if !ok {
		return "the end of the run is unknown"
	}
	if c.Workspace.Env.Clock.Now().Sub(ended) < hours(c.MaxAge) {
		return fmt.Sprintf("too young: less than %g hours since the run ended", c.MaxAge)
	}
	return ""
}

// hours converts a number of hours, capped at the longest duration.
func hours(n float64) time.Duration {
	const longest = time.Duration(1<<63 - 1)
	if n >= longest.Hours() {
		return longest
	}
	return time.Duration(n * float64(time.Hour))
}

// judge decides about the worktree of a finished run. It removes the worktree if nothing
// prevents that.
func (c CleanUp) judge(ctx context.Context, known *ownerIndex, run owner) (action, reason string) {
	if !run.inside {
		return Failed, "outside the worktree area " + Area
	}
	found, err := dirExists(c.Workspace.FS, run.location)
	switch {
	case err != nil:
		return Failed, "outside the worktree area " + Area + ": " + err.Error()
	case !found:
		return Missing, "it does not exist"
	}
	if known.nested(run) {
		return Kept, "shared: another run has its worktree in or around it"
	}
	for _, mate := range known.sharers(run) {
		if why := c.active(mate); why != "" {
			return Kept, "shared with run " + mate.id + ": " + why
		}
	}
	dir := filepath.Join(c.Workspace.Dir(), filepath.FromSlash(run.location))
	_, err = c.Workspace.FS.Lstat(path.Join(run.location, ".git"))
	plain := errors.Is(err, fs.ErrNotExist)
	var why string
	if plain {
		why = nested(dir)
	} else {
		why = unsaved(ctx, c.Environ, dir)
	}
	switch {
	case why != "":
		return Kept, why
	case c.DryRun:
		return Kept, "would be removed"
	}
	if err := c.remove(ctx, run, dir, plain); err != nil {
		if found, standErr := dirExists(c.Workspace.FS, run.location); standErr == nil && !found {
			return Missing, "removed by another process"
		}
		return Failed, err.Error()
	}
	removeEmpty(c.Workspace.FS, path.Dir(run.location))
	return Removed, fmt.Sprintf("its run ended %g hours ago or earlier", c.MaxAge)
}

// remove removes a worktree. If the directory is no longer a worktree, or its repository is not
// on this machine, remove deletes the directory and prunes the repository.
func (c CleanUp) remove(ctx context.Context, run owner, dir string, plain bool) error {
	root, mapped := c.Machine.RepoRoots[run.record.Spec.RepoID]
	if st, err := os.Stat(root); err != nil || !st.IsDir() || !filepath.IsAbs(root) {
		mapped = false
	}
	if mapped && !plain {
		g, err := newGit(c.Environ, root)
		if err != nil {
			return err
		}
		return g.remove(ctx, dir)
	}
	home := root
	if !mapped {
		home = ""
		if g, err := newReadOnlyGit(ctx, c.Environ, dir); err == nil && !plain {
			home, _ = g.line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir") // "" if there is none
		}
	}
	if err := c.Workspace.FS.RemoveAll(run.location); err != nil {
		return err
	}
	if home == "" || strings.HasPrefix(home, dir+string(filepath.Separator)) {
		return nil
	}
	if g, err := newGit(c.Environ, home); err == nil {
		_, _ = g.run(ctx, writeLimit, maxText, "worktree", "prune") // best effort: git eventually prunes by itself
	}
	return nil
}

// unsaved returns what the removal of a working tree would lose, or that this is unknown; "" if
// nothing.
func unsaved(ctx context.Context, environ []string, dir string) string {
	unknown := func(err error) string { return "its state cannot be read: " + err.Error() }
	g, err := newReadOnlyGit(ctx, environ, dir)
	if err != nil {
		return unknown(err)
	}
	top, err := g.line(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return unknown(err)
	}
	if !sameDir(top, dir) {
		return unknown(fmt.Errorf("for git it belongs to %s", top))
	}
	changed, err := g.changed(ctx)
	if err != nil {
		return unknown(err)
	}
	if changed {
		return "uncommitted changes"
	}
	if branch, err := g.line(ctx, "symbolic-ref", "--quiet", "HEAD"); err == nil && branch != "" {
		return ""
	}
	holder, err := g.line(ctx, "for-each-ref", "--count=1", "--contains", "HEAD")
	if err != nil {
		return unknown(err)
	}
	if holder == "" {
		return "commits that are on no branch"
	}
	return ""
}

func sameDir(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// nested returns a repository below a directory that is not one itself, "" if there is none.
func nested(dir string) string {
	found := ""
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			found = "it contains the repository " + filepath.Dir(name)
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return "its state cannot be read: " + err.Error()
	}
	return found
}
