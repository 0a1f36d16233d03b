package maintenance

// workspace.migrate: sealing the event logs of older programs.

import (
	"context"

	"ac/company"
	"ac/workspace/migrate"
)

// MigrateParams are the params of workspace.migrate.
type MigrateParams struct {
	company.Dir
	DryRun bool `json:"dry_run" is:"default=false"`
	Force  bool `json:"force" is:"default=false"`
}

// MigrateResult is the result of workspace.migrate.
type MigrateResult struct {
	WorkspaceDir   string `json:"workspace_dir"`
	MigrationID    string `json:"migration_id"`
	DryRun         bool   `json:"dry_run"`
	Forced         bool   `json:"forced"`
	AlreadyApplied bool   `json:"already_applied"`
	Applied        bool   `json:"applied"`
	StateRelpath   string `json:"state_relpath"`
	migrate.Counts
}

// Migrate seals the event logs of older programs.
func (c Operations) Migrate(ctx context.Context, p MigrateParams) (MigrateResult, error) {
	result := MigrateResult{
		WorkspaceDir: c.Absolute(), MigrationID: migrate.EnvelopeID, DryRun: p.DryRun, Forced: p.Force, StateRelpath: migrate.StateFile,
	}
	report, err := migrate.Run(ctx, c.Workspace(), migrate.Options{DryRun: p.DryRun, Force: p.Force})
	result.AlreadyApplied, result.Counts = report.Already, report.Counts
	result.Applied = err == nil && !p.DryRun && !report.Already
	return result, err
}
