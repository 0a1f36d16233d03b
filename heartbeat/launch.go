package heartbeat

// The jobs that actions launch.

import (
	"cmp"
	"context"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Launcher launches the jobs of actions.
type Launcher struct {
	Starter *job.Starter
	// Launched is told of each job before its runner is started; nil tells nobody.
	Launched func(project, id string)
}

// Launch asks, within a unit, for a new job that does what an action of kind
// launch_job asks for, and gives its id. start starts it, see job.Enter. A worker
// that the action names must exist: fault.NotFound else.
func (l Launcher) Launch(u *workspace.Unit, action doc.ActionBody) (id string, start func(context.Context) error, err error) {
	if action.WorkerAgentID != "" {
		if _, err := u.Workspace().Agent(action.WorkerAgentID); err != nil {
			return "", nil, fault.New(fault.ReasonOf(err), "the worker of the job: %w", err)
		}
	}
	id, begin, err := job.Enter(u, l.Starter, JobOf(u.Workspace(), action))
	if err != nil {
		return "", nil, err
	}
	return id, func(ctx context.Context) error {
		if l.Launched != nil {
			l.Launched(action.ProjectID, id)
		}
		return begin(ctx)
	}, nil
}

// JobOf is what an action asks for, as a job without an id.
func JobOf(w *workspace.Workspace, action doc.ActionBody) doc.JobSpec {
	action = action.Filled()
	deliverables := action.Deliverables
	if len(deliverables) == 0 {
		deliverables = []string{"Follow-up action"}
	}
	note := cmp.Or(action.ContextNote, "Follow-up of the heartbeat, action "+action.IdempotencyKey+".")
	return doc.JobSpec{
		SchemaVersion: doc.Version, Type: "job", JobKind: "execution", WorkerKind: action.WorkerKind, WorkspaceDir: w.Dir(), ProjectID: action.ProjectID,
		Goal: action.Goal, Constraints: action.Constraints, Deliverables: deliverables, PermissionLevel: action.PermissionLevel,
		ContextRefs: []doc.ContextRef{{Kind: "note", Value: note}}, WorkerAgentID: action.WorkerAgentID,
	}
}
