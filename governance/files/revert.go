package files

// Checkpoints: listing and reverting them.

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/checkpoint"
)

// Reverted is the state of a checkpoint that another one reverted.
const Reverted = "reverted"

// CheckpointRow is a checkpoint in a list.
type CheckpointRow struct {
	CheckpointID string            `json:"checkpoint_id"`
	At           string            `json:"at"`
	ActorID      string            `json:"actor_id"`
	Target       checkpoint.Target `json:"target"`
	Files        []CheckpointFile  `json:"files"`
	State        string            `json:"state"`
	Source       checkpoint.Source `json:"source"`
	// Reverts is the checkpoint that this one reverted, "" if it applied files.
	Reverts string `json:"reverts,omitempty"`
	// Proposal is the artifact whose approval applied the files, "" if no approval was needed.
	Proposal string `json:"proposal_id,omitempty"`
}

// CheckpointFile is a file of a checkpoint.
type CheckpointFile struct {
	Path   string `json:"path"`
	Action string `json:"action"`
}

// Checkpoints lists the checkpoints of a project, newest first, at most limit. keep selects
// plans; nil selects all.
func Checkpoints(w *workspace.Workspace, project string, limit int, keep func(checkpoint.Plan) bool) ([]CheckpointRow, error) {
	list := []CheckpointRow{}
	ids, err := w.Checkpoints(project)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Backward(ids) {
		if len(list) == limit {
			break
		}
		dir := workspace.CheckpointDir(project, id)
		outcome, ended, err := checkpoint.LoadOutcome(w.FS, dir)
		if err != nil || !ended || outcome.State == checkpoint.RolledBack {
			continue
		}
		plan, err := checkpoint.Load(w.FS, dir)
		if err != nil || keep != nil && !keep(plan) {
			continue
		}
		row := CheckpointRow{CheckpointID: id, At: plan.At, ActorID: plan.ActorID, Target: plan.Target, Files: []CheckpointFile{}, State: outcome.State, Source: plan.Source, Reverts: plan.Reverts, Proposal: plan.Proposal}
		if w.Exists(checkpoint.RevertFile(dir)) {
			row.State = Reverted
		}
		for _, f := range plan.Files {
			row.Files = append(row.Files, CheckpointFile{f.Path, f.Action})
		}
		list = append(list, row)
	}
	return list, nil
}

// Undo is a request to revert a checkpoint.
type Undo struct {
	ProjectID    string
	CheckpointID string
	Skip         bool // leave out files that changed since
	Actor        policy.Actor
}

// UndoResult is what was reverted.
type UndoResult struct {
	Reverted int                  `json:"reverted"`
	Files    []Row                `json:"files"`
	Errors   []checkpoint.Problem `json:"errors"`
	// CheckpointID is the checkpoint of the revert, which can be reverted as well. It is null if
	// nothing was written.
	CheckpointID *string `json:"checkpoint_id"`
}

// Revert restores the files of a checkpoint. Files that changed since are refused, as in Apply.
func (s *Service) Revert(ctx context.Context, u Undo) (UndoResult, error) {
	w := s.Workspace
	dir := workspace.CheckpointDir(u.ProjectID, u.CheckpointID)
	outcome, ended, err := checkpoint.LoadOutcome(w.FS, dir)
	if err == nil && !ended {
		// First finish a checkpoint whose writer died.
		if err = w.Recover(ctx); err == nil {
			outcome, ended, err = checkpoint.LoadOutcome(w.FS, dir)
		}
	}
	switch {
	case err != nil:
		return UndoResult{}, err
	case !ended || outcome.State == checkpoint.RolledBack:
		return UndoResult{}, fault.New(fault.NotFound, "checkpoint %s does not exist in project %s", u.CheckpointID, u.ProjectID)
	}
	plan, err := checkpoint.Load(w.FS, dir)
	if err != nil {
		return UndoResult{}, fault.New(fault.InvalidFile, "%w", err)
	}
	if w.Exists(checkpoint.RevertFile(dir)) {
		return UndoResult{}, fault.New(fault.RevertedAlready, "checkpoint %s was reverted already", u.CheckpointID)
	}
	b, err := s.backwards(plan, dir, outcome)
	if err != nil {
		return UndoResult{}, err
	}
	result, err := s.apply(ctx, Order{ProjectID: u.ProjectID, Skip: u.Skip, Actor: u.Actor}, b, u.CheckpointID)
	return UndoResult{result.Applied, result.Files, result.Errors, result.CheckpointID}, err
}

// backwards returns the batch that reverts a plan.
func (s *Service) backwards(plan checkpoint.Plan, dir string, outcome checkpoint.Outcome) (b batch, err error) {
	b.project, b.seen = plan.ProjectID, map[string]expectation{}
	if b.place, err = s.target(plan.ProjectID, plan.Target, ""); err != nil {
		return b, err
	}
	for n, f := range plan.Files {
		if outcome.Conflicting(f.Path) {
			continue // it was never applied
		}
		before, err := plan.Old(s.Workspace.FS, dir, n)
		if err != nil {
			return b, fault.New(fault.InvalidFile, "%w", err)
		}
		b.artifacts = append(b.artifacts, Artifact{
			ID: ID(plan.ID, f.Path), Path: f.Path, Content: before, Delete: f.Base == "", Mode: f.OldMode, Source: plan.Source, Run: s.runOf(plan),
		})
		b.seen[f.Path] = expectation{f.New, ChangedApply}
	}
	return b, nil
}

// runOf returns the run whose log records a plan.
func (s *Service) runOf(plan checkpoint.Plan) string {
	if plan.Source.JobID == "" {
		return plan.Source.RunID
	}
	answer, _, err := s.answer(workspace.JobDir(plan.ProjectID, plan.Source.JobID))
	if err != nil {
		return ""
	}
	return answer.AttemptRunID
}

// How long checkpoints are kept, and how many per project.
const (
	keptDays  = 30
	keptCount = 500
)

// Removed counts the checkpoints that a cleanup scanned and removed.
type Removed struct {
	Scanned int `json:"scanned"`
	Removed int `json:"removed"`
}

// CleanUp removes checkpoints that are too old or too many, of one project or, if project is "",
// of all. A dry run only counts them.
func CleanUp(ctx context.Context, w *workspace.Workspace, project string, dryRun bool) (report Removed, err error) {
	projects := []string{project}
	if project == "" {
		if projects, err = workspace.Dirs(w.FS, workspace.CheckpointsDir); errors.Is(err, fs.ErrNotExist) {
			return report, nil
		}
	}
	var due []string
	for _, project := range projects {
		ids, listErr := w.Checkpoints(project)
		err = errors.Join(err, listErr)
		report.Scanned += len(ids)
		for i, id := range ids {
			dir := workspace.CheckpointDir(project, id)
			if len(ids)-i > keptCount || outlived(w, dir) {
				due = append(due, dir)
			}
		}
	}
	report.Removed = len(due)
	if err != nil || dryRun || len(due) == 0 {
		return report, err
	}
	// The unit's lock excludes concurrent applications and reverts.
	return report, w.Update(ctx, func(*workspace.Unit) (err error) {
		for _, dir := range due {
			err = errors.Join(err, w.FS.RemoveAll(dir))
		}
		return err
	})
}

// outlived reports whether a checkpoint is too old. A checkpoint without a plan also counts as
// outlived, but one with an unreadable plan does not.
func outlived(w *workspace.Workspace, dir string) bool {
	plan, err := checkpoint.Load(w.FS, dir)
	if durable.IsAbsent(err) {
		return true
	}
	at, ok := clock.Parse(plan.At)
	return err == nil && ok && w.Env.Clock.Now().Sub(at).Hours() > 24*keptDays && strings.HasPrefix(plan.ID, "cp_")
}
