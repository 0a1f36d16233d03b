package workspace

// Checkpoints as operations of a unit: writing files outside the workspace together with the
// unit's documents, all or nothing.

import (
	"context"
	"errors"
	"fmt"
	"path"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/workspace/checkpoint"
)

// Checkpoint queues the files of a plan for writing to their target. The caller holds the
// lock of root, the target's root, until the unit is over. The unit first puts the
// checkpoint's folder in place. This commits the plan: after a crash, the next writer rolls
// it forward. A failure rolls everything back. Events of type artifact.applied that the unit
// appends after the checkpoint are amended with its outcome. The returned outcome is filled
// in when the unit is over.
func (u *Unit) Checkpoint(plan checkpoint.Plan, before, after [][]byte, root *checkpoint.Root) (*checkpoint.Outcome, error) {
	blobs, err := plan.Blobs(before, after)
	if err != nil {
		return nil, err
	}
	tree := Tree{}
	for _, b := range blobs {
		tree.Files = append(tree.Files, TreeFile(b))
	}
	dir := CheckpointDir(plan.ProjectID, plan.ID)
	if err := u.Create(dir, tree); err != nil {
		return nil, err
	}
	placing := &u.ops[len(u.ops)-1]
	placing.Keep = true // the record of the attempt stays
	outcome := &checkpoint.Outcome{}
	u.ops = append(u.ops, operation{Kind: opFiles, Name: dir, From: placing.From, root: root, outcome: outcome})
	return outcome, nil
}

// writeFiles applies a checkpoint, or finishes one whose writer died.
func (w *Workspace) writeFiles(ctx context.Context, op *operation) error {
	if op.root != nil {
		return w.runCheckpoint(op, op.root, (*checkpoint.Work).Apply)
	}
	op.outcome = &checkpoint.Outcome{}
	plan, err := checkpoint.Load(w.FS, op.Name)
	if err != nil {
		return err
	}
	root, err := w.LockTarget(ctx, plan.Root)
	if err == nil && root.Identity != plan.Identity {
		err = errors.Join(fmt.Errorf("%s: %w", plan.Root, checkpoint.ErrElsewhere), root.Close())
	}
	if fault.Is(err, fault.TargetBusy) {
		return err
	}
	if err != nil {
		*op.outcome, err = checkpoint.Abandon(w.FS, op.Name, w.namer, err)
		return err
	}
	err = w.runCheckpoint(op, root, (*checkpoint.Work).Recover)
	return errors.Join(err, release([]operation{*op}), root.Close())
}

func (w *Workspace) runCheckpoint(op *operation, root *checkpoint.Root, do func(*checkpoint.Work) (checkpoint.Outcome, error)) error {
	work := &checkpoint.Work{FS: w.FS, Dir: op.Name, Namer: w.namer, Root: root}
	if err := work.Begin(); err != nil {
		return err
	}
	op.work = work
	outcome, err := do(work)
	*op.outcome = outcome
	return err
}

// rollBackFiles rolls back what was applied of a checkpoint.
func (w *Workspace) rollBackFiles(op *operation) error {
	if op.work == nil {
		return nil // Begin failed: nothing was applied
	}
	outcome, err := op.work.RollBack()
	*op.outcome = outcome
	return err
}

// release closes the files and directories that checkpoints hold open.
func release(ops []operation) (err error) {
	for i := range ops {
		if work := ops[i].work; work != nil {
			err, ops[i].work = errors.Join(err, work.End()), nil
		}
	}
	return err
}

// filesState reports how far a checkpoint got.
func (w *Workspace) filesState(op *operation) (opState, error) {
	outcome, ended, err := checkpoint.LoadOutcome(w.FS, op.Name)
	switch {
	case err != nil:
		return stateForeign, err
	case ended:
		outcome.Recovered = true
		op.outcome = &outcome
		return stateDone, nil
	}
	for _, dir := range []string{op.Name, op.From} {
		if _, err := checkpoint.Load(w.FS, dir); err == nil {
			return statePartial, nil
		}
	}
	return stateForeign, nil
}

// amend adds the outcome of a checkpoint to the events that follow it.
func amend(op *operation, behind []operation) error {
	if op.Kind != opFiles || op.outcome == nil || !op.outcome.Recovered && len(op.outcome.Conflicts) == 0 {
		return nil
	}
	for i := range behind {
		for d := range behind[i].Drafts {
			draft := &behind[i].Drafts[d]
			if draft.Type != events.ArtifactApplied {
				continue
			}
			var err error
			if draft.Payload, err = op.outcome.Amend(draft.Payload, path.Base(op.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// LockTarget opens a directory outside the workspace and locks it against other writers of
// files. It waits as long as for the workspace's own write lock, and returns fault.TargetBusy
// if the lock stays taken. The caller closes the root. Lock order: a holder of the write lock
// may take this lock, never the reverse.
func (w *Workspace) LockTarget(ctx context.Context, dir string) (*checkpoint.Root, error) {
	patience := w.Env.LockPatience
	if patience == 0 {
		patience = defaultLockPatience
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, lock.ErrBusy)
	defer cancel()
	root, err := checkpoint.Lock(ctx, w.Env.FS, dir)
	if errors.Is(err, lock.ErrBusy) {
		return nil, fault.New(fault.TargetBusy, "somebody applies files to %s; gave up after %s", dir, patience)
	}
	return root, err
}

// Checkpoints lists the ids of a project's checkpoints, oldest first.
func (w *Workspace) Checkpoints(project string) ([]string, error) {
	names, err := Dirs(w.FS, path.Join(CheckpointsDir, project))
	if durable.IsAbsent(err) {
		return nil, nil
	}
	return names, err
}
