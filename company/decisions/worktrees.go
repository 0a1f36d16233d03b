package decisions

// worktree.cleanup: removing the worktrees of finished runs.

import (
	"context"
	"os"

	"ac/company"
	"ac/governance/files"
	"ac/runs/session"
	"ac/runs/worktree"
)

// CleanUpWorktreesParams are the params of worktree.cleanup.
type CleanUpWorktreesParams struct {
	company.Dir
	ProjectID   string  `json:"project_id" is:"optional,id"`
	MaxAgeHours float64 `json:"max_age_hours" is:"default=72,min=0"`
	DryRun      bool    `json:"dry_run" is:"default=false"`
}

// CleanUpWorktreesResult is the result of worktree.cleanup.
type CleanUpWorktreesResult struct {
	WorkspaceDir string  `json:"workspace_dir"`
	DryRun       bool    `json:"dry_run"`
	MaxAgeHours  float64 `json:"max_age_hours"`
	worktree.Report
	Checkpoints files.Removed `json:"checkpoints"`
}

// CleanUpWorktrees removes the worktrees of runs that ended long enough ago, unless work would be
// lost. It also removes checkpoints of applied files that are too old or too many.
func (c Operations) CleanUpWorktrees(ctx context.Context, p CleanUpWorktreesParams) (CleanUpWorktreesResult, error) {
	result := CleanUpWorktreesResult{WorkspaceDir: c.Given(), DryRun: p.DryRun, MaxAgeHours: p.MaxAgeHours}
	w := c.Workspace()
	machine, err := w.Machine()
	if err != nil {
		return result, err
	}
	order := worktree.CleanUp{
		Workspace: w, Machine: machine, Environ: os.Environ(), Dir: c.Absolute(),
		ProjectID: p.ProjectID, MaxAge: p.MaxAgeHours, DryRun: p.DryRun,
		Live: func(project, run string) bool { return session.RunAlive(w, project, run) },
	}
	if result.Report, err = order.Run(ctx); err != nil {
		return result, err
	}
	result.Checkpoints, err = files.CleanUp(ctx, w, p.ProjectID, p.DryRun)
	return result, err
}
