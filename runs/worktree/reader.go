package worktree

// Read access to repositories and worktrees, for other packages.

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// ErrTooLong reports output that exceeds its limit.
var ErrTooLong = errTooLong

// Reader runs read-only git commands in a repository or a worktree. It runs no hook, no transport,
// and no program that the repository's own configuration names. It is safe for concurrent use.
type Reader struct{ g *git }

// NewReader returns a Reader for a directory. environ is the environment of git.
func NewReader(ctx context.Context, environ []string, dir string) (*Reader, error) {
	g, err := newReadOnlyGit(ctx, environ, dir)
	if err != nil {
		return nil, err
	}
	return &Reader{g}, nil
}

// NewTreeReader is NewReader for a directory that must be the root of a working tree. Git would
// treat a directory without a .git of its own as part of an enclosing working tree.
func NewTreeReader(ctx context.Context, environ []string, dir string) (*Reader, error) {
	r, err := NewReader(ctx, environ, dir)
	if err != nil {
		return nil, err
	}
	top, err := r.g.line(ctx, "rev-parse", "--show-toplevel")
	if err == nil && !sameDir(top, dir) {
		err = fmt.Errorf("git takes it for a part of %s", top)
	}
	return r, err
}

// Output runs one git command with input as its stdin and returns its stdout. The error is
// ErrTooLong if the output exceeds limit bytes.
func (r *Reader) Output(ctx context.Context, limit int, input []byte, args ...string) ([]byte, error) {
	g := *r.g
	g.stdin = input
	return g.run(ctx, lookLimit, limit, args...)
}

// Line is Output for commands that print a single line.
func (r *Reader) Line(ctx context.Context, args ...string) (string, error) {
	return r.g.line(ctx, args...)
}

// ExitCode returns the exit status of a failed git command, -1 for any other error.
func ExitCode(err error) int {
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode()
	}
	return -1
}

// Find returns the directory of a run's worktree, "" if it no longer exists. The error is
// fault.Denied if it is not in Area.
func Find(w *workspace.Workspace, record doc.Run) (string, error) {
	_, rel, _ := record.Tree()
	if rel == "" {
		return "", nil
	}
	place := path.Clean(filepath.ToSlash(rel))
	if strings.ContainsRune(rel, 0) || !filepath.IsLocal(filepath.FromSlash(place)) || !strings.HasPrefix(place, Area+"/") {
		return "", fault.New(fault.Denied, "the worktree of run %s is outside of %s", record.ID, Area)
	}
	found, err := dirExists(w.FS, place)
	if err != nil {
		return "", fault.New(fault.Denied, "the worktree of run %s: %w", record.ID, err)
	}
	if !found {
		return "", nil
	}
	return filepath.Join(w.Dir(), filepath.FromSlash(place)), nil
}

// Run identifies a run.
type Run struct{ ProjectID, RunID string }

// RunsIn lists the runs that use the same worktree as a record, including that run.
func RunsIn(w *workspace.Workspace, record doc.Run) (runs []Run, err error) {
	_, rel, _ := record.Tree()
	if rel == "" {
		return nil, nil
	}
	known, err := inventory(w)
	if err != nil {
		return nil, err
	}
	place := path.Clean(filepath.ToSlash(rel))
	for _, run := range known.runs {
		if run.location == place {
			runs = append(runs, Run{run.project, run.id})
		}
	}
	return runs, nil
}
