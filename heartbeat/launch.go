package heartbeat

// The jobs that the heartbeat gives: to workers it wakes, and for actions.

import (
	"cmp"
	"context"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Jobs is where jobs are given to workers. It is safe for concurrent use.
type Jobs interface {
	// Enter asks, within a unit, for a new job, see job.Enter.
	Enter(u *workspace.Unit, spec doc.JobSpec) (id string, start func(context.Context) error, err error)
	// Poll gives the record of a job as it is now, see job.Poll.
	Poll(ctx context.Context, w *workspace.Workspace, project, id string) (doc.Job, error)
	// Await waits until a job is over, see job.Await.
	Await(ctx context.Context, w *workspace.Workspace, project, id string) (doc.Job, error)
}

// Launcher gives jobs to runners of their own.
type Launcher struct {
	Starter *job.Starter
	// Launched is told of each job before its runner is started; nil tells nobody.
	Launched func(w *workspace.Workspace, project, id string)
}

// Enter is Enter of Jobs.
func (l Launcher) Enter(u *workspace.Unit, spec doc.JobSpec) (id string, start func(context.Context) error, err error) {
	w := u.Workspace()
	id, begin, err := job.Enter(u, l.Starter, spec, nil)
	if err != nil {
		return "", nil, err
	}
	return id, func(ctx context.Context) error {
		if l.Launched != nil {
			l.Launched(w, spec.ProjectID, id)
		}
		return begin(ctx)
	}, nil
}

// Poll is Poll of Jobs.
func (l Launcher) Poll(ctx context.Context, w *workspace.Workspace, project, id string) (doc.Job, error) {
	return job.Poll(ctx, w, l.Starter, project, id)
}

// Await is Await of Jobs.
func (l Launcher) Await(ctx context.Context, w *workspace.Workspace, project, id string) (doc.Job, error) {
	return job.Await(ctx, w, l.Starter, project, id)
}

// Launch asks, within a unit, for a new job that does what an action of kind
// launch_job asks for, and gives its id. start starts it, see job.Enter. A worker
// that the action names must exist: fault.NotFound else.
func (l Launcher) Launch(u *workspace.Unit, action doc.ActionBody) (id string, start func(context.Context) error, err error) {
	return launches{l}.Launch(u, action)
}

// JobLauncher launches the jobs that actions ask for.
type JobLauncher interface {
	// Launch asks, within the unit, for all that makes the job of an action be
	// there, and gives its id. It starts nothing. start starts it: it is called
	// once, when the unit is durable and the workspace is free again.
	Launch(u *workspace.Unit, action doc.ActionBody) (id string, start func(context.Context) error, err error)
}

// launches launches the jobs of actions wherever jobs are given to workers.
type launches struct{ Jobs }

func (l launches) Launch(u *workspace.Unit, action doc.ActionBody) (id string, start func(context.Context) error, err error) {
	if action.WorkerAgentID != "" {
		if _, err := u.Workspace().Agent(action.WorkerAgentID); err != nil {
			return "", nil, fault.New(fault.ReasonOf(err), "the worker of the job: %w", err)
		}
	}
	return l.Enter(u, JobOf(u.Workspace(), action))
}

// JobOf is what an action asks for, as a job without an id.
func JobOf(w *workspace.Workspace, action doc.ActionBody) doc.JobSpec {
	action = action.Filled()
	deliverables := action.Deliverables
	if len(deliverables) == 0 {
		deliverables = []string{"Follow-up action"}
	}
	note := cmp.Or(action.ContextNote, "Follow-up of the heartbeat, action "+action.IdempotencyKey+".")
	refs := []doc.ContextRef{{Kind: "note", Value: note}}
	if action.TargetRole != "" {
		refs = append(refs, doc.ContextRef{Kind: "note", Value: "target_role=" + action.TargetRole})
	}
	return doc.JobSpec{
		SchemaVersion: doc.Version, Type: "job", JobKind: cmp.Or(action.JobKind, doc.JobExecution), WorkerKind: action.WorkerKind, WorkspaceDir: w.Dir(), ProjectID: action.ProjectID,
		Goal: action.Goal, Constraints: action.Constraints, Deliverables: deliverables, PermissionLevel: action.PermissionLevel,
		ContextRefs: refs, WorkerAgentID: action.WorkerAgentID,
	}
}
