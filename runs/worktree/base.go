package worktree

// The base commit of a worktree: HEAD, or a snapshot of the repository's working tree.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ac/internal/durable"
	"ac/workspace"
)

// Head returns the commit of a repository's HEAD.
func Head(ctx context.Context, environ []string, root string) (string, error) {
	g, err := newReadOnlyGit(ctx, environ, root)
	if err != nil {
		return "", err
	}
	return g.head(ctx)
}

// head returns the commit of HEAD.
func (g *git) head(ctx context.Context) (string, error) {
	commit, err := g.line(ctx, "rev-parse", "--verify", "--end-of-options", "HEAD^{commit}")
	if err != nil && ctx.Err() == nil {
		if branch, broken := g.line(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); broken == nil {
			err = fmt.Errorf("branch %s of %s has no commit yet: %w", branch, g.dir, err)
		}
	}
	return commit, err
}

// Commit resolves a name to a commit in a repository; "" means HEAD.
func Commit(ctx context.Context, environ []string, root, name string) (string, error) {
	if name == "" {
		name = "HEAD"
	}
	g, err := newReadOnlyGit(ctx, environ, root)
	if err != nil {
		return "", err
	}
	return g.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
}

// Distance returns the number of commits that are reachable from to but not from from.
func Distance(ctx context.Context, environ []string, root, from, to string) (int, error) {
	g, err := newReadOnlyGit(ctx, environ, root)
	if err != nil {
		return 0, err
	}
	text, err := g.line(ctx, "rev-list", "--count", "--end-of-options", from+".."+to)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// Origin returns the URL of a repository's remote origin, "" if there is none.
func Origin(ctx context.Context, environ []string, root string) string {
	g, err := newReadOnlyGit(ctx, environ, root)
	if err != nil {
		return ""
	}
	address, err := g.line(ctx, "config", "--get", "remote.origin.url")
	if err != nil {
		return ""
	}
	return address
}

// WorkCommit returns the commit that holds the work of a run without a worktree in this repository:
// its saved worktree, else its branch.
func WorkCommit(ctx context.Context, environ []string, root, run, branch string) (commit string, err error) {
	for _, ref := range WorkRefs(run, branch) {
		if commit, err = Commit(ctx, environ, root, ref); err == nil {
			return commit, nil
		}
	}
	return "", err
}

// WorkRefs returns the refs that may hold the work of such a run. The first that exists wins.
func WorkRefs(run, branch string) []string {
	return []string{"refs/ac/wip/" + run, "refs/heads/" + branch}
}

// IsRepository reports whether a directory is inside the working tree of a git repository.
func IsRepository(ctx context.Context, environ []string, dir string) bool {
	g, err := newReadOnlyGit(ctx, environ, dir)
	if err != nil {
		return false
	}
	inside, err := g.line(ctx, "rev-parse", "--is-inside-work-tree")
	return err == nil && inside == "true"
}

// snapshotIdentity is the author of snapshots. Snapshots need no person's name or address.
var snapshotIdentity = [...]string{
	"GIT_AUTHOR_NAME=ac", "GIT_AUTHOR_EMAIL=ac@localhost", "GIT_COMMITTER_NAME=ac", "GIT_COMMITTER_EMAIL=ac@localhost",
}

// Snapshot commits the current working tree of a repository on top of HEAD. The commit includes
// uncommitted and untracked files, but not ignored ones. Snapshot uses its own index, in the
// workspace's temporary directory. It leaves the repository's index, files, branches and stashes
// unchanged. It runs no filter that the repository's own configuration defines.
func Snapshot(ctx context.Context, w *workspace.Workspace, environ []string, root string) (commit string, err error) {
	head, err := Head(ctx, environ, root)
	if err != nil {
		return "", err
	}
	if err := durable.MkdirAll(w.FS, workspace.TempDir, 0o755); err != nil {
		return "", err
	}
	name := workspace.TempDir + "/" + w.Env.IDs.New("index")
	if err := w.FS.Mkdir(name, 0o700); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.FS.RemoveAll(name)) }()
	g, err := newReadOnlyGit(ctx, environ, root)
	if err != nil {
		return "", err
	}
	top, err := g.line(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	g.dir = top
	index := name + "/index"
	plain := *g
	g.env = append(g.env, "GIT_INDEX_FILE="+filepath.Join(w.Dir(), filepath.FromSlash(index)))
	g.env = append(g.env, snapshotIdentity[:]...)
	add := func() error {
		_, err := g.run(ctx, writeLimit, maxText, "add", "--all", "--", ".")
		return err
	}
	// A copy of the repository's own index saves git from reading every file. It also records
	// which files are not checked out. Some kinds of index cannot be copied.
	if err = plain.copyIndex(ctx, w, index); err == nil {
		err = add()
	}
	if err != nil {
		if _, err = g.run(ctx, writeLimit, maxText, "read-tree", "--end-of-options", head); err == nil {
			err = add()
		}
	}
	if err != nil {
		return "", fmt.Errorf("take a snapshot: %w", err)
	}
	tree, err := g.run(ctx, writeLimit, maxText, "write-tree")
	if err != nil {
		return "", err
	}
	return g.line(ctx, "commit-tree", "-p", head, "-m", "ac: snapshot of the working tree", strings.TrimSpace(string(tree)))
}

// Unfiltered lists the files of a snapshot that bypassed their filter. Only the repository's own
// configuration defines such a filter, so Snapshot did not run it. The snapshot contains those
// files as they are in the working tree.
func Unfiltered(ctx context.Context, environ []string, dir, commit string) (names []string, err error) {
	g, err := newReadOnlyGit(ctx, environ, dir)
	if err != nil {
		return nil, err
	}
	drivers, err := g.ownFilters(ctx)
	if err != nil || len(drivers) == 0 {
		return nil, err
	}
	changed, err := g.run(ctx, lookLimit, maxLanding, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d", commit+"^", commit)
	if err != nil {
		return nil, err
	}
	return g.filtered(ctx, drivers, changed)
}

// filtered returns the files in a NUL-terminated list that pass through one of the filters.
func (g *git) filtered(ctx context.Context, drivers []string, list []byte) (names []string, err error) {
	at := *g
	at.stdin = list
	text, err := at.run(ctx, lookLimit, 4*maxLanding, "check-attr", "-z", "--stdin", "filter")
	for found := fields(text); len(found) > 2; found = found[3:] {
		if slices.Contains(drivers, found[2]) {
			names = append(names, found[0])
		}
	}
	return names, err
}

// copyIndex copies a repository's index to a file in the workspace and preserves its mtime. Git
// rereads files that are not older than the index.
func (g *git) copyIndex(ctx context.Context, w *workspace.Workspace, to string) error {
	own, err := g.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return err
	}
	st, err := os.Stat(own)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(own)
	if err == nil {
		err = w.Replace(to, text, 0o600)
	}
	if err != nil {
		return err
	}
	return os.Chtimes(filepath.Join(w.Dir(), filepath.FromSlash(to)), st.ModTime(), st.ModTime())
}
