package worktree

// Creating the worktree of a run, and recording the state of the repository.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// Prepare creates the worktree of a run from a commit, on a new branch, and returns its
// directory. environ is the environment of git. Uncommitted changes in the repository stay
// there. On failure, Prepare leaves nothing behind except what git itself could not roll back.
func Prepare(ctx context.Context, w *workspace.Workspace, environ []string, root string, location Location, commit string) (string, error) {
	return prepare(ctx, w, environ, root, location, commit, "-b")
}

// PrepareAgain is Prepare for a run whose branch may exist. It fast-forwards the branch to the
// commit. The error is fault.Conflict, and the branch stays, if it has commits that are not in
// commit.
func PrepareAgain(ctx context.Context, w *workspace.Workspace, environ []string, root string, location Location, commit string) (string, error) {
	g, err := newReadOnlyGit(ctx, environ, root)
	if err != nil {
		return "", err
	}
	ref := "refs/heads/" + location.Branch
	if _, err := g.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref); err == nil {
		if _, err := g.run(ctx, lookLimit, maxText, "merge-base", "--is-ancestor", ref, commit); err != nil {
			return "", fault.New(fault.Conflict, "branch %s has commits that are not in %s", location.Branch, commit)
		}
	}
	return prepare(ctx, w, environ, root, location, commit, "-B")
}

func prepare(ctx context.Context, w *workspace.Workspace, environ []string, root string, location Location, commit, branching string) (string, error) {
	parent := path.Dir(location.Rel)
	if err := durable.MkdirAll(w.FS, parent, 0o755); err != nil {
		return "", err
	}
	if found, err := dirExists(w.FS, location.Rel); err != nil || found {
		if err == nil {
			err = fault.New(fault.Conflict, "%s already exists", location.Rel)
		}
		return "", err
	}
	g, err := newGit(environ, root)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(w.Dir(), filepath.FromSlash(location.Rel))
	if err := g.add(ctx, dir, location.Branch, commit, branching); err != nil {
		removeEmpty(w.FS, parent)
		return "", err
	}
	// Best effort: without it, a file may seem modified, but the worktree is usable.
	if err := g.freshen(ctx, dir); err != nil && ctx.Err() != nil {
		err = errors.Join(err, g.remove(context.WithoutCancel(ctx), dir))
		removeEmpty(w.FS, parent)
		return "", err
	}
	return dir, nil
}

// add adds a worktree, with retries. See retryIncompleteWorktree.
func (g *git) add(ctx context.Context, dir, branch, commit, branching string) error {
	for tries := 1; ; tries++ {
		_, err := g.once(ctx, writeLimit, maxText, "worktree", "add", "--no-track", branching, branch, "--end-of-options", dir, commit)
		if !retryIncompleteWorktree(ctx, err, tries) {
			return err
		}
		if at, err := g.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+branch); err == nil && at == commit {
			branching = "-B" // git created the branch before it failed
		}
	}
}

// racySpan is how much older than its index a file must be for git not to reread it. Common
// builds of git compare whole seconds.
const racySpan = 2 * time.Second

// freshen backdates files in a new worktree that pass through a filter which only the
// repository's own configuration defines. Git rereads files that are as recent as the index. A
// git that does not run such a filter would then consider them modified.
func (g *git) freshen(ctx context.Context, dir string) error {
	drivers, err := g.ownFilters(ctx)
	if err != nil || len(drivers) == 0 {
		return err
	}
	at := *g
	at.dir = dir
	listed, err := at.run(ctx, lookLimit, maxLanding, "ls-files", "-z")
	if err != nil {
		return err
	}
	names, err := at.filtered(ctx, drivers, listed)
	if err != nil || len(names) == 0 {
		return err
	}
	for _, name := range names {
		file := filepath.Join(dir, filepath.FromSlash(name))
		st, err := os.Lstat(file)
		if err != nil || !st.Mode().IsRegular() {
			continue // not checked out, or not a file that filters apply to
		}
		if err := os.Chtimes(file, time.Time{}, st.ModTime().Add(-racySpan)); err != nil {
			return err
		}
	}
	_, err = at.run(ctx, writeLimit, maxText, "update-index", "-q", "--refresh")
	if ExitCode(err) == 1 { // its own filter modifies a file; readers see that
		err = nil
	}
	return err
}

// Discard removes a worktree, whatever it contains. It keeps the branch.
func Discard(ctx context.Context, w *workspace.Workspace, environ []string, root string, location Location) error {
	g, err := newGit(environ, root)
	if err != nil {
		return err
	}
	if err := g.remove(ctx, filepath.Join(w.Dir(), filepath.FromSlash(location.Rel))); err != nil {
		return err
	}
	removeEmpty(w.FS, path.Dir(location.Rel))
	return nil
}

func (g *git) remove(ctx context.Context, dir string) error {
	_, err := g.run(ctx, writeLimit, maxText, "worktree", "remove", "--force", "--end-of-options", dir)
	return err
}

// Exists reports whether the directory of a worktree exists.
func Exists(w *workspace.Workspace, rel string) (bool, error) { return dirExists(w.FS, rel) }

// dirExists reports whether a directory exists at a path in the workspace. It returns an error for
// anything but a directory, and for a symlink on the path, which could lead to other work.
func dirExists(fsys durable.FS, name string) (bool, error) {
	at := ""
	for step := range strings.SplitSeq(name, "/") {
		at = path.Join(at, step)
		st, err := fsys.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, err
		case st.Mode()&fs.ModeSymlink != 0:
			return false, fmt.Errorf("%s is a symlink", at)
		case !st.IsDir():
			return false, fmt.Errorf("%s is not a directory", at)
		}
	}
	return true, nil
}

// removeEmpty removes a directory in Area if it is empty, then its empty parents.
func removeEmpty(fsys durable.FS, dir string) {
	for dir != Area && fsys.Remove(dir) == nil {
		dir = path.Dir(dir)
	}
}

// State is a snapshot of a repository's state.
type State struct {
	HeadSHA string
	Dirty   bool
	Patch   []byte // changes to tracked files since HEAD; nil if there are none
}

// ReadState reads the state of a repository without changing it. environ is the environment of git.
func ReadState(ctx context.Context, environ []string, root string) (State, error) {
	var state State
	g, err := newReadOnlyGit(ctx, environ, root)
	if err != nil {
		return state, err
	}
	if state.HeadSHA, err = g.head(ctx); err != nil {
		return state, err
	}
	if state.Dirty, err = g.changed(ctx); err != nil || !state.Dirty {
		return state, err
	}
	patch, err := g.run(ctx, lookLimit, maxPatch, "diff", "--binary", "--no-ext-diff", "--no-textconv", "--no-relative",
		"--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--end-of-options", "HEAD")
	if err != nil {
		return state, err
	}
	if len(bytes.TrimSpace(patch)) > 0 {
		state.Patch = patch
	}
	return state, nil
}

// Forget removes what an interrupted Prepare left behind, including the branch. No run may refer
// to the worktree. It is idempotent.
func Forget(ctx context.Context, w *workspace.Workspace, environ []string, root string, location Location) error {
	found, err := dirExists(w.FS, location.Rel)
	if err != nil {
		return err
	}
	g, err := newGit(environ, root)
	if err != nil {
		return err
	}
	if found {
		if err := w.FS.RemoveAll(location.Rel); err != nil {
			return err
		}
	}
	if _, err := g.run(ctx, writeLimit, maxText, "worktree", "prune"); err != nil {
		return err
	}
	if _, err := g.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+location.Branch); err != nil {
		return nil //nolint:nilerr // there is no such branch
	}
	_, err = g.run(ctx, writeLimit, maxText, "branch", "-D", "--end-of-options", location.Branch)
	return err
}
