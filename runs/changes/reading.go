package changes

// Reading the changes of a run while somebody may land it, which removes its worktree.

import (
	"context"
	"errors"

	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// maxReads is how many times the changes of a run are read. A run is landed once, and its
// worktree removed once.
const maxReads = 3

// Read calls use with the changes of a run. If the run is landed or its worktree removed
// meanwhile, what was read may mix both states, so Read calls use again with the new one. use must
// begin anew each time. Errors are those of Open and of use.
func (r Reader) Read(ctx context.Context, project, run string, use func(*Set) error) error {
	for reads := 1; ; reads++ {
		before := r.stateOf(project, run)
		set, err := r.Open(ctx, project, run)
		if err == nil {
			err = errors.Join(use(set), set.Close())
		}
		if reads == maxReads || ctx.Err() != nil || r.stateOf(project, run) == before {
			return err
		}
	}
}

// readState identifies what the changes of a run are read from.
type readState struct {
	dir    string // of the worktree, "" if it no longer exists
	landed doc.Landed
}

// stateOf returns the current state. It is zero for a run that cannot be read, which Open reports.
func (r Reader) stateOf(project, run string) (s readState) {
	record, err := workspace.Load(r.Workspace, doc.RunCodec, workspace.RunFile(project, run))
	if err != nil {
		return s
	}
	if record.Landed != nil {
		s.landed = *record.Landed
	}
	s.dir, _ = worktree.Find(r.Workspace, record) // Open reports the error
	return s
}
