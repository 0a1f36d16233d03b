package worktree

// Landing: merging the work of a run into a branch of its repository as one commit. If this
// process is killed, the branch is at either its old or its new commit. Git moves the branch
// last, survives this process, and holds the repository's lock until it finishes.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// Limits of landing, in bytes.
const (
	maxLanding = 16 << 20    // output of git commands that list files
	maxLanded  = 100_000_000 // size of one file
)

// RunTrailer is the commit trailer that names the landed run.
const RunTrailer = "Ac-Run"

// Repository is a repository into which runs are landed. The caller holds its lock.
type Repository struct {
	w    *workspace.Workspace
	g    *git // may run configured programs, like the user's own git
	read *git // read-only
	root string
	top  string // root of its working tree, "" for a bare repository
}

// OpenRepository opens a repository for landing. environ is the environment of git. held is the
// repository's open lock file, which git inherits; nil where a lock cannot be inherited.
func OpenRepository(ctx context.Context, w *workspace.Workspace, environ []string, root string, held *os.File) (*Repository, error) {
	read, err := newReadOnlyGit(ctx, environ, root)
	if err != nil {
		return nil, err
	}
	g, err := newGit(environ, root)
	if err != nil {
		return nil, err
	}
	g.shared = held
	g.configure([][2]string{
		{"user.useConfigOnly", "true"}, {"i18n.commitEncoding", "UTF-8"}, {"gc.auto", "0"}, {"maintenance.auto", "false"}, {"merge.autoStash", "false"},
	})
	r := &Repository{w: w, g: g, read: read, root: root}
	bare, err := read.line(ctx, "rev-parse", "--is-bare-repository")
	if err == nil && bare != "true" {
		r.top, err = read.line(ctx, "rev-parse", "--show-toplevel")
	}
	return r, err
}

// Unshare allows reading the repository without holding its lock.
func (r *Repository) Unshare() { r.g.shared = nil }

// Top returns the root of the working tree, "" for a bare repository.
func (r *Repository) Top() string { return r.top }

// Target is the branch onto which a run is landed.
type Target struct {
	Branch string
	Tip    string // its current commit
	Here   bool   // checked out in the repository's own working tree
}

func (t Target) ref() string { return "refs/heads/" + t.Branch }

// Target finds a branch by name; "" means the one that is checked out. The error is
// fault.NotFound for a missing branch, fault.NoTarget for a detached HEAD, and fault.TargetBusy
// for a branch that another working tree has checked out.
func (r *Repository) Target(ctx context.Context, branch string) (t Target, err error) {
	head, _ := r.read.line(ctx, "symbolic-ref", "--quiet", "HEAD") // fails if HEAD is detached
	current := strings.TrimPrefix(head, "refs/heads/")
	if t.Branch = branch; branch == "" {
		if t.Branch = current; head == "" || current == head {
			return t, fault.New(fault.NoTarget, "no branch is checked out in %s; name one", r.root)
		}
	}
	if t.Tip, err = r.tip(ctx, t.ref()); err != nil {
		return t, fault.New(fault.NotFound, "branch %s does not exist in %s, or has no commit", t.Branch, r.root)
	}
	t.Here = r.top != "" && t.Branch == current
	return t, r.checkElsewhere(ctx, t)
}

// tip returns the commit of a ref.
func (r *Repository) tip(ctx context.Context, ref string) (string, error) {
	return r.read.line(ctx, "show-ref", "--verify", "--hash", "--", ref)
}

// checkElsewhere refuses a branch that is checked out in another working tree.
func (r *Repository) checkElsewhere(ctx context.Context, t Target) error {
	text, err := r.read.run(ctx, lookLimit, maxLanding, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return err
	}
	for tree := range strings.SplitSeq(string(text), "\x00\x00") {
		lines := strings.Split(tree, "\x00")
		dir := strings.TrimPrefix(lines[0], "worktree ")
		own := r.top != "" && sameDir(dir, r.top)
		gone := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "prunable") })
		if slices.Contains(lines, "branch "+t.ref()) && !gone && !slices.Contains(lines, "bare") && !own {
			return fault.New(fault.TargetBusy, "branch %s is checked out in %s", t.Branch, dir)
		}
	}
	return nil
}

// Landed returns the commit that landed a run on a branch after since, found by its trailer; ""
// if there is none.
func (r *Repository) Landed(ctx context.Context, since, tip, run string) (string, error) {
	text, err := r.read.run(ctx, lookLimit, maxLanding, "log", "--fixed-strings", "--grep="+RunTrailer+": "+run,
		"--format=%H %(trailers:key="+RunTrailer+",valueonly=true,separator=%x2C)", "--end-of-options", tip, "^"+since, "--")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if commit, named, _ := strings.Cut(strings.TrimRight(line, "\n"), " "); named == run {
			return commit, nil
		}
	}
	return "", nil
}

// Unmerged lists the files with conflicts from an unfinished merge in a worktree.
func Unmerged(ctx context.Context, environ []string, dir string) ([]string, error) {
	g, err := newReadOnlyGit(ctx, environ, dir)
	if err != nil {
		return nil, err
	}
	text, err := g.run(ctx, lookLimit, maxLanding, "diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff", "--no-relative")
	return fields(text), err
}

// fields splits a NUL-terminated list.
func fields(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// Merge performs a three-way merge of a commit and a branch, without changing either. It returns
// the merged tree, or the conflicting files.
func (r *Repository) Merge(ctx context.Context, t Target, work string) (tree string, conflicts []string, err error) {
	text, err := r.g.run(ctx, writeLimit, maxLanding, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", t.Tip, work)
	found := fields(text)
	switch code := ExitCode(err); {
	case code == 1 && len(found) > 1:
		return "", slices.DeleteFunc(found[1:], func(name string) bool { return name == "" }), nil
	case code == 129: // git printed its usage
		return "", nil, errors.New("landing needs git 2.38 or newer")
	case err == nil && len(found) != 1:
		err = fmt.Errorf("git merge-tree: cannot read %.200q", text)
	}
	if err != nil {
		return "", nil, err
	}
	return found[0], nil, nil
}

// Change holds the size of a change, its files, and the files that cannot be landed.
type Change struct {
	Files, Added, Removed int
	Paths                 []string
	Refused               []Refusal
}

// Refusal is a file that cannot be landed, and why.
type Refusal struct{ Path, Why string }

// Change compares two commits or trees.
func (r *Repository) Change(ctx context.Context, from, to string) (c Change, err error) {
	changed, err := r.entries(ctx, from, to)
	if err != nil {
		return c, err
	}
	var ask bytes.Buffer
	for _, e := range changed {
		c.Paths = append(c.Paths, e.path)
		if e.mode == "160000" || e.oldMode == "160000" {
			c.Refused = append(c.Refused, Refusal{e.path, "is a submodule or a repository of its own"})
		} else if e.mode != "" {
			fmt.Fprintln(&ask, e.blob)
		}
	}
	c.Files = len(changed)
	sizing := *r.read
	sizing.stdin = ask.Bytes()
	sizes, err := sizing.run(ctx, lookLimit, maxLanding, "cat-file", "--batch-check=%(objectname) %(objectsize)")
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(string(sizes)) {
		blob, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(size, 10, 64); err != nil || n > maxLanded {
			at := slices.IndexFunc(changed, func(e entry) bool { return e.blob == blob })
			c.Refused = append(c.Refused, Refusal{changed[max(at, 0)].path, "has more than 100 MB"})
		}
	}
	text, err := r.read.run(ctx, lookLimit, maxLanding, "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", from, to)
	for _, line := range fields(text) {
		counts := strings.SplitN(line, "\t", 3)
		if len(counts) == 3 { // binary files have "-" and count as zero lines
			added, _ := strconv.Atoi(counts[0])
			removed, _ := strconv.Atoi(counts[1])
			c.Added, c.Removed = c.Added+added, c.Removed+removed
		}
	}
	return c, err
}

// entry is a file that differs between two commits. A mode is "" if the file is absent.
type entry struct {
	path, oldMode, mode, blob string
}

func (r *Repository) entries(ctx context.Context, from, to string) (list []entry, err error) {
	text, err := r.read.run(ctx, lookLimit, maxLanding, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", from, to)
	if err != nil {
		return nil, err
	}
	found := fields(text)
	for i := 0; i+1 < len(found); i += 2 {
		meta := strings.Fields(strings.TrimPrefix(found[i], ":"))
		if len(meta) != 5 {
			return nil, fmt.Errorf("git diff-tree: cannot read %.200q", found[i])
		}
		present := func(mode string) string { return strings.TrimLeft(mode, "0") }
		list = append(list, entry{path: found[i+1], oldMode: present(meta[0]), mode: present(meta[1]), blob: meta[3]})
	}
	return list, nil
}

// Tree returns the tree of a commit.
func (r *Repository) Tree(ctx context.Context, commit string) (string, error) {
	return r.read.line(ctx, "rev-parse", "--verify", "--end-of-options", commit+"^{tree}")
}

// Parent returns the first parent of a commit.
func (r *Repository) Parent(ctx context.Context, commit string) (string, error) {
	return r.read.line(ctx, "rev-parse", "--verify", "--end-of-options", commit+"^1")
}

// Commit creates a commit on top of a branch without moving the branch. Its author is the user
// in the repository's configuration.
func (r *Repository) Commit(ctx context.Context, t Target, tree, message string) (string, error) {
	g := *r.g
	g.stdin = []byte(message)
	text, err := g.run(ctx, lookLimit, maxText, "commit-tree", "-p", t.Tip, "-F", "-", tree)
	return strings.TrimSpace(string(text)), err
}

// Move fast-forwards a branch to a commit on its tip, along with the working tree that has it
// checked out. Git refuses if this would overwrite uncommitted changes. The error is then
// fault.TargetBusy, and nothing has changed.
func (r *Repository) Move(ctx context.Context, t Target, commit, run string) error {
	if !t.Here {
		_, err := r.g.run(ctx, lookLimit, maxText, "update-ref", "-m", "ac land "+run, t.ref(), commit, t.Tip)
		return r.moved(ctx, t, commit, err)
	}
	if err := durable.MkdirAll(r.w.FS, workspace.TempDir, 0o755); err != nil {
		return err
	}
	name := path.Join(workspace.TempDir, "git_"+run+".txt")
	said, err := r.w.FS.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	g := *r.g
	g.stderrFile = durable.OSFile(said)
	g.env = append(slices.Clone(g.env), "GIT_REFLOG_ACTION=ac land "+run)
	// Not cancelable: git would leave the working tree between the two commits.
	_, err = g.run(context.WithoutCancel(ctx), writeLimit, maxText,
		"merge", "--ff-only", "--no-squash", "--no-autostash", "--no-verify-signatures", "--no-stat", "--no-progress", "--quiet", commit)
	err = r.moved(ctx, t, commit, err)
	return errors.Join(err, said.Close(), r.w.FS.Remove(name))
}

// moved returns nil if the branch is now at commit, else fault.TargetBusy. why is the error of
// the move.
func (r *Repository) moved(ctx context.Context, t Target, commit string, why error) error {
	tip, err := r.tip(context.WithoutCancel(ctx), t.ref())
	switch {
	case err == nil && tip == commit:
		return nil
	case err == nil && tip != t.Tip:
		return fault.New(fault.TargetBusy, "branch %s moved meanwhile; nothing was landed, try again", t.Branch)
	case why == nil:
		return fault.New(fault.TargetBusy, "another branch was checked out in %s meanwhile; look where it is", r.root)
	}
	return fault.New(fault.TargetBusy, "nothing was landed: %w", why)
}

// HooksPassedOver lists the repository's commit hooks that landing does not run.
func (r *Repository) HooksPassedOver(ctx context.Context) (names []string) {
	dir := ""
	text, _ := r.read.run(ctx, lookLimit, maxText, "config", "--null", "--show-scope", "--type=path", "--get-all", "core.hooksPath") // status 1: not set
	for set := fields(text); len(set) > 1; set = set[2:] {
		if set[0] != "command" {
			dir = set[1]
		}
	}
	if dir == "" {
		common, err := r.read.line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
		if err != nil {
			return nil
		}
		dir = filepath.Join(common, "hooks")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.top, dir)
	}
	for _, name := range []string{"pre-commit", "commit-msg"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			names = append(names, name)
		}
	}
	return names
}
