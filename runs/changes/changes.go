// Package changes reports what a run changed. Everything that shows or lands the changes of a
// run reads worktrees and branches through this package.
//
// Invariants: the package only reads git, without hooks, external diffs, text conversions or
// locks. It changes nothing in the repository or the worktree. It reads worktrees through a root
// and follows no symlinks.
package changes

import (
	"context"
	"encoding/hex"
	"errors"
	"path"
	"slices"
	"strings"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// Where the changes of a run come from.
const (
	Live   = "live"   // its worktree, with a live session
	Kept   = "kept"   // its worktree, without a live session
	Branch = "branch" // its branch, after the worktree was removed
	Landed = "landed" // the commit that landed it
)

// MaxFile is the size limit for reading a file's content, in bytes.
const MaxFile = 1 << 20

// maxList bounds the output of git commands that list files, in bytes.
const maxList = 16 << 20

// Reader reads the changes of runs.
type Reader struct {
	Workspace *workspace.Workspace
	Machine   doc.Machine
	Environ   []string // the environment of git
	// Alive reports whether a session of a run is alive.
	Alive func(project, run string) bool
}

// Set holds the changes of one run, from the base commit of its worktree to the current state.
// It is not safe for concurrent use. The caller must close it.
type Set struct {
	Run    doc.Run
	State  string
	RepoID string
	Branch string
	Base   string // the base commit
	Tip    string // the compared commit, "" for a worktree
	Files  []File // sorted by path

	git  *worktree.Reader
	tree durable.FS // nil if a commit is compared
}

// File is one changed path.
type File struct {
	Path string
	// OldMode and NewMode are git modes, "" for an absent file: 100644, 100755, 120000 for a
	// symlink, 160000 for a submodule.
	OldMode, NewMode string
	// Untracked means that git does not track the file. Nested means that it is a nested
	// repository.
	Untracked, Nested bool

	old, fresh string // blob ids; fresh is "" for content in a worktree
}

// Regular reports whether each side is a regular file or absent.
func (f File) Regular() bool {
	plain := func(mode string) bool { return mode == "" || strings.HasPrefix(mode, "100") }
	return plain(f.OldMode) && plain(f.NewMode) && !f.Nested
}

// Executable reports whether a git mode is that of an executable file.
func Executable(mode string) bool { return mode == "100755" }

// Open lists the files that a run changed. The error is fault.NoWorktree if the run has neither
// a worktree nor a branch, fault.GitFailed if git fails.
func (r Reader) Open(ctx context.Context, project, run string) (*Set, error) {
	record, err := workspace.Load(r.Workspace, doc.RunCodec, workspace.RunFile(project, run))
	if err == nil {
		err = workspace.CheckID(workspace.RunFile(project, run), run, record.ID)
	}
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "run %s does not exist in project %s", run, project)
	}
	if err != nil {
		return nil, err
	}
	repo, rel, branch := record.Tree()
	if rel == "" && branch == "" {
		return nil, noWorktree(run)
	}
	s := &Set{Run: record, RepoID: repo, Branch: branch}
	dir, err := worktree.Find(r.Workspace, record)
	switch {
	case err != nil:
		return nil, err
	case record.Landed != nil && !r.Alive(project, run) && r.openLanded(ctx, s) == nil:
		return s, nil
	case dir != "":
		s.State = Kept
		if r.Alive(project, run) {
			s.State = Live
		}
		err = r.openTree(ctx, s, dir)
	default:
		s.State = Branch
		err = r.openBranch(ctx, s)
	}
	if err != nil {
		return nil, errors.Join(gitFailed(err), s.Close())
	}
	return s, nil
}

func noWorktree(run string) error {
	return fault.New(fault.NoWorktree, "run %s has neither a worktree nor a branch of its own", run)
}

// gitFailed converts an error to fault.GitFailed, unless it is already a fault.
func gitFailed(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return fault.New(fault.GitFailed, "%w", err)
}

// Close closes the worktree's root.
func (s *Set) Close() error {
	if s.tree == nil {
		return nil
	}
	return s.tree.Close()
}

func (r Reader) openTree(ctx context.Context, s *Set, dir string) (err error) {
	if s.git, err = worktree.NewTreeReader(ctx, r.Environ, dir); err != nil {
		return err
	}
	if s.tree, err = r.Workspace.Env.FS(dir); err != nil {
		return err
	}
	if s.Base, err = r.base(ctx, s, "HEAD"); err != nil {
		return err
	}
	known := map[string]File{}
	if err := s.diff(ctx, known, s.Base); err != nil {
		return err
	}
	text, err := s.git.Output(ctx, maxList, nil, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(string(text), "\x00") {
		if name == "" {
			continue
		}
		f := known[strings.TrimSuffix(name, "/")]
		f.Path, f.Untracked, f.Nested = strings.TrimSuffix(name, "/"), true, strings.HasSuffix(name, "/")
		f.NewMode = s.modeNow(f.Path)
		known[f.Path] = f
	}
	s.addFiles(known)
	return nil
}

// modeNow returns the git mode of a path in the worktree, "" if it does not exist.
func (s *Set) modeNow(name string) string {
	st, err := s.tree.Lstat(name)
	switch {
	case err != nil:
		return ""
	case st.Mode().IsRegular() && st.Mode()&0o100 != 0:
		return "100755"
	case st.Mode().IsRegular():
		return "100644"
	case st.IsDir():
		return "160000"
	}
	return "120000"
}

func (s *Set) addFiles(known map[string]File) {
	for _, f := range known {
		s.Files = append(s.Files, f)
	}
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// openLanded compares the commit that landed a run with its base. It fails if either commit is
// no longer in the repository.
func (r Reader) openLanded(ctx context.Context, s *Set) error {
	landed := *s.Run.Landed
	root, err := worktree.Root(r.Machine, landed.RepoID)
	if err != nil {
		return err
	}
	if s.git, err = worktree.NewReader(ctx, r.Environ, root); err != nil {
		return err
	}
	for _, commit := range []string{landed.Base, landed.Commit} {
		if _, err := s.git.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}"); err != nil {
			return err
		}
	}
	known := map[string]File{}
	if err := s.diff(ctx, known, landed.Base, landed.Commit); err != nil {
		return err
	}
	s.State, s.RepoID, s.Base, s.Tip = Landed, landed.RepoID, landed.Base, landed.Commit
	s.addFiles(known)
	return nil
}

func (r Reader) openBranch(ctx context.Context, s *Set) error {
	root, err := worktree.Root(r.Machine, s.RepoID)
	if err != nil {
		return noWorktree(s.Run.ID)
	}
	if s.git, err = worktree.NewReader(ctx, r.Environ, root); err != nil {
		return err
	}
	// Commits saved from a worktree on another machine take precedence over the branch.
	for _, ref := range worktree.WorkRefs(s.Run.ID, s.Branch) {
		if s.Tip, err = s.git.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}"); err == nil {
			break
		}
	}
	if err != nil {
		return noWorktree(s.Run.ID)
	}
	if s.Base, err = r.base(ctx, s, s.Tip); err != nil {
		return err
	}
	known := map[string]File{}
	if err := s.diff(ctx, known, s.Base, s.Tip); err != nil {
		return err
	}
	s.addFiles(known)
	return nil
}

// base returns the base commit of a worktree from its run's record. For an older run, which has
// none, it returns the merge base of the branch and the repository's HEAD.
func (r Reader) base(ctx context.Context, s *Set, tip string) (string, error) {
	if noted := s.Run.WorktreeBase; noted != "" {
		if _, err := hex.DecodeString(noted); err != nil || len(noted) != 40 && len(noted) != 64 {
			return "", fault.New(fault.InvalidFile, "run %s: worktree_base is no commit", s.Run.ID)
		}
		return noted, nil
	}
	home := s.git
	if s.tree != nil {
		common, err := s.git.Line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
		if err != nil {
			return "", err
		}
		if tip, err = s.git.Line(ctx, "rev-parse", "--verify", "--end-of-options", tip); err != nil {
			return "", err
		}
		if home, err = worktree.NewReader(ctx, r.Environ, common); err != nil {
			return "", err
		}
	}
	return home.Line(ctx, "merge-base", "--end-of-options", tip, "HEAD")
}

// diff adds the tracked files that differ between two commits, or between a commit and the
// worktree.
func (s *Set) diff(ctx context.Context, known map[string]File, commits ...string) error {
	args := append([]string{
		"diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-relative", "--ignore-submodules=dirty",
		"--end-of-options",
	}, commits...)
	text, err := s.git.Output(ctx, maxList, nil, append(args, "--")...)
	if err != nil {
		return err
	}
	fields := strings.Split(string(text), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		meta := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(meta) != 5 {
			return fault.New(fault.GitFailed, "git diff: cannot read %q", fields[i])
		}
		f := File{Path: path.Clean(fields[i+1]), OldMode: modeIfAny(meta[0]), NewMode: modeIfAny(meta[1]), old: meta[2]}
		if s.tree == nil {
			f.fresh = meta[3]
		}
		if before, ok := known[f.Path]; ok && meta[4] == "U" {
			f.OldMode, f.old = before.OldMode, before.old
		}
		known[f.Path] = f
	}
	return nil
}

func modeIfAny(mode string) string {
	if strings.Trim(mode, "0") == "" {
		return ""
	}
	return mode
}
