package worktree

// The commit that a worktree is made from: HEAD, or a snapshot of what lies in
// the repository.

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

// Head is the commit that a repository is at.
func Head(ctx context.Context, environ []string, root string) (string, error) {
	g, err := looking(ctx, environ, root)
	if err != nil {
		return "", err
	}
	return g.head(ctx)
}

// head is the commit that is checked out.
func (g *git) head(ctx context.Context) (string, error) {
	commit, err := g.line(ctx, "rev-parse", "--verify", "--end-of-options", "HEAD^{commit}")
	if err != nil && ctx.Err() == nil {
		if branch, broken := g.line(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); broken == nil {
			err = fmt.Errorf("branch %s of %s has no commit yet: %w", branch, g.dir, err)
		}
	}
	return commit, err
}

// Commit is the commit that a name stands for in a repository, "" for HEAD.
func Commit(ctx context.Context, environ []string, root, name string) (string, error) {
	if name == "" {
		name = "HEAD"
	}
	g, err := looking(ctx, environ, root)
	if err != nil {
		return "", err
	}
	return g.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
}

// Distance is how many commits one commit is ahead of another.
func Distance(ctx context.Context, environ []string, root, from, to string) (int, error) {
	g, err := looking(ctx, environ, root)
	if err != nil {
		return 0, err
	}
	text, err := g.line(ctx, "rev-list", "--count", "--end-of-options", from+".."+to)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// Origin is the address of the remote origin of a repository, "" for none.
func Origin(ctx context.Context, environ []string, root string) string {
	g, err := looking(ctx, environ, root)
	if err != nil {
		return ""
	}
	address, err := g.line(ctx, "config", "--get", "remote.origin.url")
	if err != nil {
		return ""
	}
	return address
}

// Left is the commit of what a run left in a repository that it has no worktree of: what
// was saved of its worktree, else its branch.
func Left(ctx context.Context, environ []string, root, run, branch string) (commit string, err error) {
	for _, ref := range LeftRefs(run, branch) {
		if commit, err = Commit(ctx, environ, root, ref); err == nil {
			return commit, nil
		}
	}
	return "", err
}

// LeftRefs are the refs that may have what a run left, the first one that is there counts.
func LeftRefs(run, branch string) []string {
	return []string{"refs/ac/wip/" + run, "refs/heads/" + branch}
}

// IsRepository reports whether a directory is the root of a git repository's
// working tree, or lies in one.
func IsRepository(ctx context.Context, environ []string, dir string) bool {
	g, err := looking(ctx, environ, dir)
	if err != nil {
		return false
	}
	inside, err := g.line(ctx, "rev-parse", "--is-inside-work-tree")
	return err == nil && inside == "true"
}

// snapshotIdentity is who makes snapshots: no name or address of a person is needed.
var snapshotIdentity = [...]string{
	"GIT_AUTHOR_NAME=ac", "GIT_AUTHOR_EMAIL=ac@localhost", "GIT_COMMITTER_NAME=ac", "GIT_COMMITTER_EMAIL=ac@localhost",
}

// Snapshot makes a commit on HEAD of what lies in a repository now, uncommitted
// and untracked files included and ignored ones not. It has an index of its own,
// below the workspace's folder for temporary files, so that the index, the files,
// the branches and the stashes of the repository stay as they are. No filter that
// the repository's own configuration names is run.
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
	g, err := looking(ctx, environ, root)
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
	// A copy of the repository's own index saves git from reading every file, and
	// knows which of them are not checked out. Some kinds cannot be copied.
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

// Unfiltered lists the files of a snapshot that its commit has as they lie in the working
// tree, though they pass through a filter: one that only the repository's own
// configuration names, and that is not run for that reason.
func Unfiltered(ctx context.Context, environ []string, dir, commit string) (names []string, err error) {
	g, err := looking(ctx, environ, dir)
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

// filtered are those files of a list, a NUL behind each, that pass through one of the filters.
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

// copyIndex copies the index of a repository to a file of the workspace, with its time:
// git reads files again that changed at the time of the index, or after it.
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
