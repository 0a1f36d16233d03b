package heartbeat

// The heartbeat's jobs: those that wake workers, and those of actions.

import (
	"cmp"
	"context"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Jobs submits jobs to workers. It is safe for concurrent use.
type Jobs interface {
	// Enqueue queues a new job in a unit, see job.Enqueue.
	Enqueue(u *workspace.Unit, spec doc.JobSpec) (id string, start func(context.Context) error, err error)
	// Poll returns the current record of a job, see job.Poll.
	Poll(ctx context.Context, w *workspace.Workspace, project, id string) (doc.Job, error)
	// Await waits until a job has ended, see job.Await.
	Await(ctx context.Context, w *workspace.Workspace, project, id string) (doc.Job, error)
}

// Launcher submits jobs to runner processes.
type Launcher struct {
	Starter *job.Starter
	// Launched is called with each job before its runner starts. It may be nil.
	Launched func(w *workspace.Workspace, project, id string)
}

// Enqueue implements Jobs.
func (l Launcher) Enqueue(u *workspace.Unit, spec doc.JobSpec) (id string, start func(context.Context) error, err error) {
	w := u.Workspace()
	id, begin, err := job.Enqueue(u, l.Starter, spec, nil)
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

// Poll implements Jobs.
func (l Launcher) Poll(ctx context.Context, w *workspace.Workspace, project, id string) (doc.Job, error) {
	return job.Poll(ctx, w, l.Starter, project, id)
}

// Await implements Jobs.
func (l Launcher) Await(ctx context.Context, w *workspace.Workspace, project, id string) (doc.Job, error) {
	return job.Await(ctx, w, l.Starter, project, id)
}

// Launch queues, in a unit, a new job for an action of kind launch_job, and returns its id. start
// starts it, see job.Enqueue. The error is fault.NotFound if the action names a missing worker.
func (l Launcher) Launch(u *workspace.Unit, action doc.ActionBody) (id string, start func(context.Context) error, err error) {
	return launches{l}.Launch(u, action)
}

// JobLauncher launches the jobs of actions.
type JobLauncher interface {
	// Launch queues the job of an action in the unit and returns its id. It starts nothing. The
	// caller calls start once, after the unit is durable and the workspace is unlocked.
	Launch(u *workspace.Unit, action doc.ActionBody) (id string, start func(context.Context) error, err error)
}

// launches launches the jobs of actions through Jobs.
type launches struct{ Jobs }

func (l launches) Launch(u *workspace.Unit, action doc.ActionBody) (id string, start func(context.Context) error, err error) {
	if action.WorkerAgentID != "" {
		if _, err := u.Workspace().Agent(action.WorkerAgentID); err != nil {
			return "", nil, fault.New(fault.ReasonOf(err), "the worker of the job: %w", err)
		}
	}
	return l.Enqueue(u, JobOf(u.Workspace(), action))
}

// JobOf returns the job of an action, without an id.
func JobOf(w *workspace.Workspace, action doc.ActionBody) doc.JobSpec {
	action = action.WithDefaults()
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
