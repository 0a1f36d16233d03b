package job

// Where an attempt works if its order names a repository.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"ac/fleet"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/runs"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// CodePlaceUnavailable is the error of a job whose place is not on this machine.
const CodePlaceUnavailable = "place_unavailable"

// workplace is where an attempt works. The zero value is the workspace.
type workplace struct {
	repo    string
	workdir string
	tree    *session.Worktree // nil for the repository itself
	linked  bool              // the repository is linked to the project
}

// trusted reports whether an authorized actor chose the folder: it is the workspace itself, a
// worktree of ours, or a repository that is linked to the project.
func (at workplace) trusted() bool { return at.repo == "" || at.tree != nil || at.linked }

// treeFor returns the worktree of an attempt. A worktree that does not exist yet is named after the
// attempt's run.
func (at workplace) treeFor(run string) *session.Worktree {
	if at.tree == nil || at.tree.Exists {
		return at.tree
	}
	tree := *at.tree
	tree.Run = run
	return &tree
}

func placeUnavailableEnd(why string) *jobEnd {
	return &jobEnd{
		result: withError(blank(doc.ResultBlocked, "The place of the job is not available: "+why), CodePlaceUnavailable, why,
			"Map the repository on this machine, then submit the job again."),
		signals: Signals{BlockedReason: CodePlaceUnavailable},
	}
}

// settlePlace decides on which machine an attempt runs, and where it works there. An attempt that
// may run anywhere stays here if its place exists only on this machine.
func (r *runner) settlePlace(ctx context.Context, agent doc.Agent, attempts []doc.JobAttempt) (blocked *jobEnd, err error) {
	var given *doc.Placement
	if r.job.order != nil {
		given = r.job.order.Placement
	}
	if r.placement, err = fleet.PlacementOf(r.w, agent.ID, given); err != nil {
		return nil, err
	}
	if r.at, blocked, err = r.findWorkplace(ctx, attempts); err != nil || blocked != nil || r.placement.Local() {
		return blocked, err
	}
	if r.at.repo == "" || (r.at.tree != nil && !r.at.tree.Exists) {
		return nil, nil //nolint:nilnil // it can be made anywhere
	}
	if r.placement.Where == doc.WhereAny {
		r.placement = nil
		return nil, nil //nolint:nilnil // it runs here
	}
	return placeUnavailableEnd("agent " + agent.ID + " works on other machines, and the place of the job is on this one"), nil
}

// findWorkplace decides where an attempt works. If that is impossible, blocked is the end of the
// job. Attempts of one job share a worktree, which the first one makes.
func (r *runner) findWorkplace(ctx context.Context, attempts []doc.JobAttempt) (at workplace, blocked *jobEnd, err error) {
	if r.job.order == nil || r.job.order.Place == nil {
		return at, nil, nil
	}
	want := r.job.order.Place
	at = workplace{repo: want.RepoID, workdir: want.WorkdirRel}
	machine, err := r.w.Machine()
	if err != nil {
		return at, nil, err
	}
	links, err := r.w.RepoLinks(r.project)
	if err != nil {
		return at, nil, err
	}
	for _, link := range links {
		at.linked = at.linked || link.RepoID == want.RepoID
	}
	root, err := worktree.Root(machine, want.RepoID)
	if err != nil {
		return at, placeUnavailableEnd(err.Error()), nil
	}
	if want.Isolation == doc.IsolationNone {
		return at, nil, nil
	}
	if at.tree, err = r.sharedTree(want, attempts); at.tree != nil || err != nil {
		return at, nil, err
	}
	if !worktree.IsRepository(ctx, r.order.Environ, root) {
		if r.spec.PermissionLevel == "read-only" {
			return at, nil, nil // the job cannot change anything there
		}
		return at, placeUnavailableEnd(root + " is not a git repository, and the job may change files"), nil
	}
	if at.tree, err = r.continuedTree(ctx, root, attempts); at.tree != nil || err != nil {
		return at, nil, err
	}
	if want.Isolation == doc.IsolationShared {
		if !r.w.Exists(workspace.WorkflowRunFile(r.project, want.BaseRunID)) {
			return at, placeUnavailableEnd("run " + want.BaseRunID + " has no worktree any more"), nil
		}
		at.tree, err = r.workflowTree(ctx, root, want)
		return at, nil, err
	}
	base, err := r.baseOf(ctx, root, want)
	at.tree = &session.Worktree{Owner: r.id, Base: base, Snapshot: want.Base == doc.BaseSnapshot}
	return at, nil, err
}

// continuedTree returns a worktree that continues from what the newest attempt left on another
// machine. It returns nil if there was none or its work is not on this machine.
func (r *runner) continuedTree(ctx context.Context, root string, attempts []doc.JobAttempt) (*session.Worktree, error) {
	for _, a := range slices.Backward(attempts) {
		run, err := runs.Load(r.w, r.project, a.RunID)
		if err != nil {
			return nil, err
		}
		_, rel, branch := run.Tree()
		if branch == "" || rel != "" {
			continue
		}
		if left, err := worktree.WorkCommit(ctx, r.order.Environ, root, a.RunID, branch); err == nil {
			return &session.Worktree{Owner: r.id, Base: run.WorktreeBase, Snapshot: run.WorktreeSnapshot, From: left}, nil
		}
	}
	return nil, cause(ctx, nil)
}

// baseOf returns the commit from which a worktree is made.
func (r *runner) baseOf(ctx context.Context, root string, want *doc.JobPlace) (commit string, err error) {
	if want.Base == doc.BaseSnapshot {
		commit, err = worktree.Snapshot(ctx, r.w, r.order.Environ, root)
	} else {
		commit, err = worktree.Head(ctx, r.order.Environ, root)
	}
	return commit, cause(ctx, err)
}

// sharedTree returns the existing worktree of an earlier attempt or of the run that the order
// names, nil if there is none.
func (r *runner) sharedTree(want *doc.JobPlace, attempts []doc.JobAttempt) (*session.Worktree, error) {
	ids := make([]string, 0, len(attempts)+1)
	for _, a := range attempts {
		ids = append(ids, a.RunID)
	}
	if want.BaseRunID != "" {
		ids = append(ids, want.BaseRunID)
	}
	for _, id := range ids {
		run, err := runs.Load(r.w, r.project, id)
		if err != nil {
			return nil, err
		}
		_, rel, _ := run.Tree()
		if rel == "" {
			continue
		}
		project, owner, made, err := worktree.Named(rel)
		if err != nil || project != r.project {
			return nil, fault.New(fault.InvalidFile, "run %s names the worktree %s, which is none of the project", id, rel)
		}
		return &session.Worktree{Owner: owner, Run: made, Base: run.WorktreeBase, Snapshot: run.WorktreeSnapshot, Exists: true}, nil
	}
	return nil, nil
}

// workflowTree returns the worktree that the tasks of a workflow's run share, and makes it if
// necessary. The run's record names the worktree once it is complete. One that it does not name is
// a leftover of a runner that died, and nobody used it.
func (r *runner) workflowTree(ctx context.Context, root string, want *doc.JobPlace) (tree *session.Worktree, err error) {
	run, snapshot := want.BaseRunID, want.Base == doc.BaseSnapshot
	place, err := worktree.LocationOf(r.project, run, run)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(r.project + "\x00" + run))
	held, err := lock.Wait(ctx, r.w.FS, workspace.LockFile("tree-"+hex.EncodeToString(sum[:8])))
	if err != nil {
		return nil, cause(ctx, err)
	}
	defer func() { err = errors.Join(err, held.RemoveAndRelease()) }()
	if tree, err = r.sharedTree(&doc.JobPlace{BaseRunID: run}, nil); tree != nil || err != nil {
		return tree, err // another task made it first
	}
	base, err := r.baseOf(ctx, root, want)
	if err != nil {
		return nil, err
	}
	if err := worktree.Forget(ctx, r.w, r.order.Environ, root, place); err != nil {
		return nil, cause(ctx, err)
	}
	if _, err := worktree.Prepare(ctx, r.w, r.order.Environ, root, place, base); err != nil {
		return nil, cause(ctx, err)
	}
	err = r.w.Update(ctx, func(u *workspace.Unit) error {
		file := workspace.RunFile(r.project, run)
		record, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil {
			return err
		}
		record.WorktreeRepoID = want.RepoID
		record.WorktreeRel, record.WorktreeBranch, record.WorktreeBase, record.WorktreeSnapshot = place.Rel, place.Branch, base, snapshot
		return workspace.Put(u, doc.RunCodec, file, record, 0o644)
	})
	return &session.Worktree{Owner: run, Run: run, Base: base, Snapshot: snapshot, Exists: true}, err
}
