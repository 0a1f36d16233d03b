package company

// Stopping workflows by the names of their runs, as sessions are stopped.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
)

// stopWorkflowAnywhere cancels a workflow run if the request names no workspace. It searches the
// workspaces that this process has open. missing is the error if there is no such run.
func (cs *Host) stopWorkflowAnywhere(ctx context.Context, p SessionParams, missing error) (Poll, error) {
	if p.WorkspaceDir != "" || !fault.Is(missing, fault.NotFound) {
		return Poll{}, missing
	}
	cs.mu.Lock()
	dirs := slices.Sorted(maps.Keys(cs.open))
	cs.mu.Unlock()
	for _, dir := range dirs {
		w, err := cs.In(dir).workspace(ctx)
		if err != nil {
			continue // it no longer exists
		}
		poll, err := cs.stopWorkflow(ctx, w, p.SessionRef, missing)
		if !errors.Is(err, missing) {
			return poll, err
		}
	}
	return Poll{}, missing
}

// stopWorkflow cancels the workflow run that a session_ref names. missing is the error if it
// names none.
func (cs *Host) stopWorkflow(ctx context.Context, w *workspace.Workspace, ref string, missing error) (Poll, error) {
	projects, err := workspace.Dirs(w.FS, workspace.ProjectsDir)
	if err != nil {
		return Poll{}, err
	}
	run, _ := strings.CutPrefix(ref, session.LocalRef(""))
	for _, project := range projects {
		if !workspace.SafeID(run) || session.LocalRef(run) != ref || !workflow.IsWorkflowRun(w, project, run) {
			continue
		}
		if _, err := (workflow.Flows{Workspace: w, Starter: cs.runners}).Cancel(ctx, project, run); err != nil {
			return Poll{}, err
		}
		record, err := runs.Load(w, project, run)
		return Poll{SessionRef: ref, ProjectID: project, RunID: run, Status: record.Status}, err
	}
	return Poll{}, missing
}

// Flows returns the workflows of the workspace.
func (c *Company) Flows() workflow.Flows {
	return workflow.Flows{Workspace: c.w, Starter: c.host.runners, Launched: func(project, id string) { c.host.remember(c.dir, project, id) }}
}
