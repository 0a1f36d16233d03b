package supervisor

// Sessions in a repository: where they run, and the repository's state at the start.

import (
	"context"
	"errors"
	"path"
	"path/filepath"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// preparedPayload is the payload of worktree.prepared.
type preparedPayload struct {
	RepoID      string  `json:"repo_id"`
	TaskID      string  `json:"task_id"`
	MilestoneID *string `json:"milestone_id"`
	WorktreeRel string  `json:"worktree_relpath"`
	Branch      string  `json:"branch"`
}

// patchPayload is the payload of artifact.produced for a dirty patch.
type patchPayload struct {
	ArtifactID string `json:"artifact_id"`
	Relpath    string `json:"relpath"`
	Kind       string `json:"kind"`
	RepoID     string `json:"repo_id"`
}

// snapshotPayload is the payload of context_pack.snapshot_written.
type snapshotPayload struct {
	ContextPackID string  `json:"context_pack_id"`
	RepoID        string  `json:"repo_id"`
	HeadSHA       string  `json:"head_sha"`
	Dirty         bool    `json:"dirty"`
	PatchID       *string `json:"dirty_patch_artifact_id"`
}

// snapshotFailedPayload is the payload of context_pack.snapshot_failed.
type snapshotFailedPayload struct {
	ContextPackID string `json:"context_pack_id"`
	RepoID        string `json:"repo_id"`
	Error         string `json:"error"`
}

// enterRepo determines where in a repository the provider runs, in its own worktree if the task
// wants one, and records the repository's state. An error is a start failure. Failing to record
// the state is not an error.
func (s *supervisor) enterRepo(ctx context.Context, machine doc.Machine, spec *doc.Spec) error {
	ctx, done := s.untilStopped(ctx)
	defer done()
	root, err := worktree.Root(machine, s.order.RepoID)
	if err != nil {
		return err
	}
	tree := s.order.Worktree
	if tree == nil && !s.order.InPlace && s.order.TaskID != "" {
		isolate, err := worktree.NeedsWorktree(s.w, s.order.ProjectID, s.order.TaskID, s.order.MilestoneID)
		if err != nil {
			return err
		}
		if isolate {
			tree = &session.Worktree{Owner: s.order.TaskID, Run: s.order.RunID}
		}
	}
	location := root
	if tree != nil {
		if location, err = s.isolate(ctx, root, *tree, spec); err != nil {
			return err
		}
	}
	if s.workdir, err = worktree.Confine(location, s.order.WorkdirRel); err != nil {
		return err
	}
	return s.recordRepo(ctx, root)
}

// errStopped is the cause of a stop before the provider started.
var errStopped = errors.New("stopped before the start")

// untilStopped returns a context that is canceled when a stop is requested. The caller must call
// the returned function.
func (s *supervisor) untilStopped(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-s.host.Interrupt:
			s.requestStop(true)
		case <-s.stop:
		case <-ctx.Done():
			return
		}
		cancel(errStopped)
	}()
	return ctx, func() {
		cancel(nil)
		<-over
	}
}

// isolate creates the run's worktree, or finds the shared one. The run's record names it from
// then on, so that a cleanup finds it even after a crash.
func (s *supervisor) isolate(ctx context.Context, root string, tree session.Worktree, spec *doc.Spec) (dir string, err error) {
	location, err := worktree.LocationOf(s.order.ProjectID, tree.Owner, tree.Run)
	if err != nil {
		return "", err
	}
	if tree.Exists {
		spec.WorktreeRel, spec.WorktreeBranch = location.Rel, location.Branch
		found, err := worktree.Exists(s.w, location.Rel)
		if err == nil && !found {
			err = fault.New(fault.NotFound, "worktree %s is gone", location.Rel)
		}
		if err != nil {
			return "", err
		}
		return filepath.Join(s.w.Dir(), filepath.FromSlash(location.Rel)), s.commitWorktree(ctx, spec, tree)
	}
	if tree.Base == "" {
		if tree.Base, err = worktree.Head(ctx, s.order.Environ, root); err != nil {
			return "", err
		}
	}
	if tree.From != "" {
		dir, err = worktree.PrepareAgain(ctx, s.w, s.order.Environ, root, location, tree.From)
	} else {
		dir, err = worktree.Prepare(ctx, s.w, s.order.Environ, root, location, tree.Base)
	}
	if err != nil {
		return "", err
	}
	spec.WorktreeRel, spec.WorktreeBranch = location.Rel, location.Branch
	prepared, err := s.draft(events.WorktreePrepared, preparedPayload{
		RepoID: s.order.RepoID, TaskID: tree.Owner, MilestoneID: orNull(s.order.MilestoneID),
		WorktreeRel: location.Rel, Branch: location.Branch,
	})
	prepared.Actor = s.order.AgentID
	if err == nil {
		err = s.commitWorktree(ctx, spec, tree, prepared)
	}
	if err != nil {
		err = errors.Join(err, worktree.Discard(context.WithoutCancel(ctx), s.w, s.order.Environ, root, location))
	}
	return dir, err
}

// commitWorktree writes the run's worktree and base commit into its record, together with the
// events.
func (s *supervisor) commitWorktree(ctx context.Context, spec *doc.Spec, tree session.Worktree, told ...events.Draft) error {
	return s.w.Update(ctx, func(u *workspace.Unit) error {
		file := workspace.RunFile(s.order.ProjectID, s.order.RunID)
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil {
			return err
		}
		if doc.Terminal(run.Status) {
			return fault.New(fault.Conflict, "run %s is %s already", s.order.RunID, run.Status)
		}
		run.Spec, run.WorktreeBase, run.WorktreeSnapshot = spec, tree.Base, tree.Snapshot
		if err := workspace.Put(u, doc.RunCodec, file, run, 0o644); err != nil {
			return err
		}
		if len(told) > 0 {
			u.Append(workspace.LogFile(s.order.ProjectID, s.order.RunID), told...)
		}
		return nil
	})
}

// recordRepo writes the repository's state into the run's context pack, or a failure event into
// the log. An interrupted recording is an error.
func (s *supervisor) recordRepo(ctx context.Context, root string) error {
	if s.order.Worker != nil {
		return nil // the repository is on another machine, which recorded its state
	}
	run, err := workspace.Load(s.w, doc.RunCodec, workspace.RunFile(s.order.ProjectID, s.order.RunID))
	if err != nil {
		return err
	}
	state, err := worktree.ReadState(ctx, s.order.Environ, root)
	if err == nil {
		err = s.writeSnapshot(ctx, run.ContextPackID, state)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	failed, err := s.draft(events.SnapshotFailed, snapshotFailedPayload{run.ContextPackID, s.order.RepoID, err.Error()})
	if err != nil {
		return err
	}
	return s.w.Append(ctx, workspace.LogFile(s.order.ProjectID, s.order.RunID), failed)
}

// writeSnapshot writes a repository's patch, its entry in the context pack, and their events, as
// one unit.
func (s *supervisor) writeSnapshot(ctx context.Context, packID string, state worktree.State) error {
	if !workspace.SafeID(packID) {
		return fault.New(fault.InvalidFile, "%q cannot name a context pack", packID)
	}
	found := &doc.RepoSnapshot{RepoID: s.order.RepoID, HeadSHA: state.HeadSHA, Dirty: state.Dirty}
	var drafts []events.Draft
	patch := ""
	if state.Patch != nil {
		found.DirtyPatchArtifactID = s.w.Env.IDs.New("art")
		patch = path.Join(workspace.ArtifactsDir(s.order.ProjectID), found.DirtyPatchArtifactID+".patch")
		produced, err := s.draft(events.ArtifactProduced, patchPayload{found.DirtyPatchArtifactID, patch, "repo_dirty_patch", s.order.RepoID})
		if err != nil {
			return err
		}
		drafts = append(drafts, produced)
	}
	written, err := s.draft(events.SnapshotWritten, snapshotPayload{
		packID, s.order.RepoID, state.HeadSHA, state.Dirty, orNull(found.DirtyPatchArtifactID),
	})
	if err != nil {
		return err
	}
	drafts = append(drafts, written)
	return s.w.Update(ctx, func(u *workspace.Unit) error {
		manifest := path.Join(workspace.ContextPackDir(s.order.ProjectID, packID), "manifest.yaml")
		pack, err := workspace.LoadIn(u, doc.ContextPackCodec, manifest)
		if err != nil {
			return err
		}
		if err := workspace.CheckID(manifest, packID, pack.ID); err != nil {
			return err
		}
		if patch != "" {
			if err := u.Write(patch, state.Patch, 0o644); err != nil {
				return err
			}
		}
		pack.RepoSnapshot = found
		if err := workspace.Put(u, doc.ContextPackCodec, manifest, pack, 0o644); err != nil {
			return err
		}
		u.Append(workspace.LogFile(s.order.ProjectID, s.order.RunID), drafts...)
		return nil
	})
}
