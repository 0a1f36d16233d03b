package worktree

// Looking at repositories and worktrees, for other packages.

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

// ErrTooLong is the error of output that is beyond its bound.
var ErrTooLong = errTooLong

// Reader is git in a repository or a worktree, for commands that only look: no hook, no
// transport and no program that the repository itself configures is run. It is safe
// for concurrent use.
type Reader struct{ g *git }

// NewReader is git in a directory. environ is what git inherits.
func NewReader(ctx context.Context, environ []string, dir string) (*Reader, error) {
	g, err := looking(ctx, environ, dir)
	if err != nil {
		return nil, err
	}
	return &Reader{g}, nil
}

// NewTreeReader is NewReader for a directory that must be the top of a working tree:
// one without a .git of its own would be taken for a part of the tree around it.
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

// Output runs one git command with an input and returns its output, which is
// ErrTooLong beyond limit bytes.
func (r *Reader) Output(ctx context.Context, limit int, input []byte, args ...string) ([]byte, error) {
	g := *r.g
	g.stdin = input
	return g.run(ctx, lookLimit, limit, args...)
}

// Line is Output for commands that answer with one line.
func (r *Reader) Line(ctx context.Context, args ...string) (string, error) {
	return r.g.line(ctx, args...)
}

// ExitCode is the exit status of a git command that failed, -1 for every other error.
func ExitCode(err error) int {
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode()
	}
	return -1
}

// Find is the directory of the worktree that a run names, "" when there is none any
// more. One that does not lie where worktrees lie is fault.Denied.
func Find(w *workspace.Workspace, record doc.Run) (string, error) {
	_, rel, _ := record.Tree()
	if rel == "" {
		return "", nil
	}
	place := path.Clean(filepath.ToSlash(rel))
	if strings.ContainsRune(rel, 0) || !filepath.IsLocal(filepath.FromSlash(place)) || !strings.HasPrefix(place, Area+"/") {
		return "", fault.New(fault.Denied, "the worktree of run %s is outside of %s", record.ID, Area)
	}
	found, err := stand(w.FS, place)
	if err != nil {
		return "", fault.New(fault.Denied, "the worktree of run %s: %w", record.ID, err)
	}
	if !found {
		return "", nil
	}
	return filepath.Join(w.Dir(), filepath.FromSlash(place)), nil
}

// Run names a run.
type Run struct{ ProjectID, RunID string }

// RunsIn lists the runs that name the same worktree as a record does.
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
