package workspace

// Checkpoints as operations of a unit: files outside of the workspace that are written
// with it, all or nothing.

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

// Checkpoint asks for the files of a plan to be written to their target, whose root the
// caller has locked and keeps so until the unit is over. The folder of the checkpoint is
// put into place first; from then on the plan is decided, and a crash is rolled
// forward by the next writer. A failure takes everything back. Events of the type
// artifact.applied that the unit appends behind it are made to say how it ended.
// The outcome is filled in when the unit is over.
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
	placing.Keep = true // a record of what was tried stays
	outcome := &checkpoint.Outcome{}
	u.ops = append(u.ops, operation{Kind: opFiles, Name: dir, From: placing.From, root: root, outcome: outcome})
	return outcome, nil
}

// writeFiles carries a checkpoint out, or brings one to its end whose writer died.
func (w *Workspace) writeFiles(ctx context.Context, op *operation) error {
	if op.root != nil {
		return w.working(op, op.root, (*checkpoint.Work).Apply)
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
	err = w.working(op, root, (*checkpoint.Work).Recover)
	return errors.Join(err, release([]operation{*op}), root.Close())
}

func (w *Workspace) working(op *operation, root *checkpoint.Root, do func(*checkpoint.Work) (checkpoint.Outcome, error)) error {
	work := &checkpoint.Work{FS: w.FS, Dir: op.Name, Namer: w.namer, Root: root}
	if err := work.Begin(); err != nil {
		return err
	}
	op.work = work
	outcome, err := do(work)
	*op.outcome = outcome
	return err
}

// takeBackFiles undoes what was done of a checkpoint.
func (w *Workspace) takeBackFiles(op *operation) error {
	if op.work == nil {
		return nil // it could not even begin
	}
	outcome, err := op.work.RollBack()
	*op.outcome = outcome
	return err
}

// release closes what checkpoints hold open.
func release(ops []operation) (err error) {
	for i := range ops {
		if work := ops[i].work; work != nil {
			err, ops[i].work = errors.Join(err, work.End()), nil
		}
	}
	return err
}

// filesState tells how far a checkpoint came.
func (w *Workspace) filesState(op *operation) (opState, error) {
	outcome, ended, err := checkpoint.Ended(w.FS, op.Name)
	switch {
	case err != nil:
		return foreign, err
	case ended:
		outcome.Recovered = true
		op.outcome = &outcome
		return done, nil
	}
	for _, dir := range []string{op.Name, op.From} {
		if _, err := checkpoint.Load(w.FS, dir); err == nil {
			return begun, nil
		}
	}
	return foreign, nil
}

// amend makes the events behind a checkpoint say how it ended.
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

// LockTarget opens a directory outside of the workspace and locks it against others who
// apply files to it, waiting as long as for the workspace itself. One that is not given
// up is fault.TargetBusy. The caller closes it. Whoever holds the write lock
// may ask for it, and nobody the other way round.
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

// Checkpoints lists the checkpoints of a project by id, the oldest first.
func (w *Workspace) Checkpoints(project string) ([]string, error) {
	names, err := Dirs(w.FS, path.Join(CheckpointsDir, project))
	if durable.Absent(err) {
		return nil, nil
	}
	return names, err
}
