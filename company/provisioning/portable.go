package provisioning

// workspace.export and workspace.import.

import (
	"context"
	"errors"
	"time"

	"ac/company"
	"ac/heartbeat"
	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/transfer"
)

// ExportParams are the params of workspace.export.
type ExportParams struct {
	company.Dir
	OutDir       string `json:"out_dir" is:"path"`
	IncludeLocal bool   `json:"include_local" is:"default=false"`
	Force        bool   `json:"force" is:"default=false"`
}

// InWorkspace returns the target of the export, because the export writes there.
func (p ExportParams) InWorkspace() string { return p.OutDir }

// Reads returns the workspace to export.
func (p ExportParams) Reads() []string { return []string{p.WorkspaceDir} }

// ExportResult is the result of workspace.export.
type ExportResult struct {
	WorkspaceDir    string   `json:"workspace_dir"`
	OutDir          string   `json:"out_dir"`
	IncludeLocal    bool     `json:"include_local"`
	ExportedEntries []string `json:"exported_entries"`
	SkippedEntries  []string `json:"skipped_entries,omitempty"`
}

// Export copies a workspace to another directory.
func (c Folder) Export(ctx context.Context, p ExportParams) (ExportResult, error) {
	result := ExportResult{WorkspaceDir: p.WorkspaceDir, OutDir: p.OutDir, IncludeLocal: p.IncludeLocal}
	report, err := transfer.Order{
		Env: c.Host().Env(), From: workspace.Canonical(p.WorkspaceDir), To: workspace.Canonical(p.OutDir),
		Local: p.IncludeLocal, Force: p.Force, Busy: idleCheckWithGrace(ctx),
	}.Run(ctx)
	result.ExportedEntries, result.SkippedEntries = report.Entries, report.Skipped
	return result, err
}

// ImportParams are the params of workspace.import.
type ImportParams struct {
	company.Dir
	SrcDir       string `json:"src_dir" is:"path"`
	IncludeLocal bool   `json:"include_local" is:"default=false"`
	Force        bool   `json:"force" is:"default=false"`
}

// Reads returns the workspace to import.
func (p ImportParams) Reads() []string { return []string{p.SrcDir} }

// ImportResult is the result of workspace.import.
type ImportResult struct {
	SrcDir           string   `json:"src_dir"`
	WorkspaceDir     string   `json:"workspace_dir"`
	IncludeLocal     bool     `json:"include_local"`
	ImportedEntries  []string `json:"imported_entries"`
	ValidationOK     bool     `json:"validation_ok"`
	ValidationIssues int      `json:"validation_issues"`
	SkippedEntries   []string `json:"skipped_entries,omitempty"`
}

// Import creates a workspace from a copy of one.
func (c Folder) Import(ctx context.Context, p ImportParams) (ImportResult, error) {
	result := ImportResult{SrcDir: p.SrcDir, WorkspaceDir: p.WorkspaceDir, IncludeLocal: p.IncludeLocal}
	report, err := transfer.Order{
		Env: c.Host().Env(), From: workspace.Canonical(p.SrcDir), To: c.Path(),
		Local: p.IncludeLocal, Force: p.Force, Import: true, Busy: idleCheckWithGrace(ctx),
	}.Run(ctx)
	result.ImportedEntries, result.SkippedEntries = report.Entries, report.Skipped
	result.ValidationIssues = len(report.Found.Issues)
	result.ValidationOK = err == nil && result.ValidationIssues == 0
	return result, err
}

// lockReleaseGrace is how long a session may hold its locks after its end was
// recorded.
const lockReleaseGrace = time.Second

// idleCheckWithGrace returns checkIdle with a grace period: its first call waits for processes that are
// about to end.
func idleCheckWithGrace(ctx context.Context) func(*workspace.Workspace) error {
	patient := true
	return func(w *workspace.Workspace) error {
		err := checkIdle(w)
		for left := lockReleaseGrace; patient && errors.Is(err, errHeld) && left > 0; left -= lockReleaseGrace / 100 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(lockReleaseGrace / 100):
			}
			err = checkIdle(w)
		}
		patient = false
		return err
	}
}

// errHeld marks a workspace whose only sign of activity is a held lock.
var errHeld = errors.New("the workspace is locked")

// checkIdle returns an error if a session, a job's runner or a heartbeat tick is active in the
// workspace, which must then not be replaced.
func checkIdle(w *workspace.Workspace) error {
	live, err := session.AnyLive(w)
	if err != nil {
		return err
	}
	if live != "" {
		return atWork(w, "session "+live)
	}
	held, err := w.HeldLock()
	if err != nil {
		return err
	}
	if held != "" {
		found := atWork(w, held)
		found.Cause = errHeld
		return found
	}
	ticking, err := heartbeat.TickRunning(w)
	if err != nil {
		return err
	}
	if ticking {
		return atWork(w, "a heartbeat tick")
	}
	runs, err := job.Running(w)
	if err == nil && runs != "" {
		return atWork(w, "the runner of "+runs)
	}
	return err
}

func atWork(w *workspace.Workspace, what string) *fault.Error {
	return fault.New(fault.Conflict, "%s is in use (%s); nothing was changed", w.Dir(), what)
}
