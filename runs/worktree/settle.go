package worktree

// Repairing a working tree after git was killed while it fast-forwarded a branch.

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// Settle repairs a working tree after git was killed between the old and the new commit of a
// fast-forward. It restores the old version of files that match the new commit or are torn
// writes of it. It keeps all later changes by people. If the branch is no longer at the old
// commit, it was moved and Settle does nothing. The error is fault.TargetBusy if a killed git
// left its lock file: only a person can know that no git is running.
func (r *Repository) Settle(ctx context.Context, branch, old, fresh string) error {
	t := Target{Branch: branch, Tip: old}
	head, _ := r.read.line(ctx, "symbolic-ref", "--quiet", "HEAD") // fails if HEAD is detached
	tip, err := r.tip(ctx, t.ref())
	if err != nil || tip != old || head != t.ref() || r.top == "" {
		return nil //nolint:nilerr // the branch is gone, and with it what there was to do
	}
	locked, err := r.read.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index.lock")
	if err != nil {
		return err
	}
	if _, err := os.Lstat(locked); !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.TargetBusy, "git is at work in %s, or was killed there; if none runs, remove %s", r.root, locked)
	}
	changed, err := r.entries(ctx, old, fresh)
	if err != nil {
		return err
	}
	unlike, err := r.compare(ctx, old, fresh)
	if err != nil {
		return err
	}
	var back []string
	for _, e := range changed {
		torn, err := r.torn(ctx, e, unlike)
		if err != nil {
			return err
		}
		if torn {
			back = append(back, e.path)
		}
	}
	return r.putBack(ctx, old, back, unlike.old.staged, changed)
}

// putBack restores files from a commit. Git restores those in the commit or in the index.
// putBack removes the others.
func (r *Repository) putBack(ctx context.Context, commit string, back []string, staged map[string]bool, changed []entry) (err error) {
	root, err := r.w.Env.FS(r.top)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	var names bytes.Buffer
	for _, e := range changed {
		switch {
		case !slices.Contains(back, e.path):
		case e.oldMode != "" || staged[e.path]:
			names.WriteString(e.path + "\x00")
		default:
			if err := root.Remove(e.path); err != nil {
				return err
			}
		}
	}
	if names.Len() == 0 {
		return nil
	}
	g := *r.g
	g.dir, g.stdin = r.top, names.Bytes()
	g.env = append(slices.Clone(g.env), "GIT_LITERAL_PATHSPECS=1")
	_, err = g.run(ctx, writeLimit, maxText, "restore", "--source="+commit, "--staged", "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul")
	return err
}

// differences holds the files that differ from a commit: staged in the index, lying in the
// working tree.
type differences struct{ staged, worktree map[string]bool }

// comparison holds the differences from the old and from the new commit.
type comparison struct{ old, fresh differences }

func (r *Repository) compare(ctx context.Context, old, fresh string) (c comparison, err error) {
	if c.old, err = r.differences(ctx, old); err == nil {
		c.fresh, err = r.differences(ctx, fresh)
	}
	return c, err
}

func (r *Repository) differences(ctx context.Context, commit string) (d differences, err error) {
	named := func(text []byte) map[string]bool {
		set := map[string]bool{}
		for _, name := range fields(text) {
			set[name] = true
		}
		return set
	}
	staged, err := r.read.run(ctx, lookLimit, maxLanding, "diff-index", "--cached", "--name-only", "-z", "--no-renames", commit)
	if err != nil {
		return d, err
	}
	name := workspace.TempDir + "/" + r.w.Env.IDs.New("index")
	if err := errors.Join(durable.MkdirAll(r.w.FS, workspace.TempDir, 0o755), r.w.FS.Mkdir(name, 0o700)); err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, r.w.FS.RemoveAll(name)) }()
	g := *r.read
	g.dir = r.top
	g.env = append(slices.Clone(g.env), "GIT_INDEX_FILE="+filepath.Join(r.w.Dir(), filepath.FromSlash(name), "index"))
	if _, err := g.run(ctx, writeLimit, maxText, "read-tree", commit); err != nil {
		return d, err
	}
	if _, err := g.run(ctx, writeLimit, maxText, "update-index", "-q", "--refresh"); err != nil && ExitCode(err) != 1 { // status 1: some files differ
		return d, err
	}
	lying, err := g.run(ctx, writeLimit, maxLanding, "diff-files", "--name-only", "-z", "--no-renames")
	return differences{named(staged), named(lying)}, err
}

// torn reports whether only the killed git changed a file: index and working tree have the old
// version, the new one, or a prefix of the new one.
func (r *Repository) torn(ctx context.Context, e entry, c comparison) (bool, error) {
	at := filepath.Join(r.top, filepath.FromSlash(e.path))
	st, err := os.Lstat(at)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return false, nil // git does not write such a file
	}
	like := func(d differences, exists bool) bool {
		if !exists {
			return missing
		}
		return !d.worktree[e.path]
	}
	isOld, isFresh := like(c.old, e.oldMode != ""), like(c.fresh, e.mode != "")
	stagedOld := !c.old.staged[e.path]
	switch {
	case !stagedOld && c.fresh.staged[e.path], stagedOld && isOld:
		return false, nil // somebody staged another version, or the file is unchanged
	case isOld || isFresh || missing:
		return true, nil
	case !st.Mode().IsRegular() || !strings.HasPrefix(e.mode, "100") || st.Size() > maxLanded:
		return false, nil
	}
	now, err := os.ReadFile(at)
	if err != nil {
		return false, err
	}
	whole, err := r.read.run(ctx, lookLimit, 2*maxLanded, "cat-file", "--filters", "--path="+e.path, e.blob)
	return err == nil && bytes.HasPrefix(whole, now), err
}
