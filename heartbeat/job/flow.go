package job

// Jobs that are steps of a workflow.

import (
	"context"
	"slices"
	"strings"

	"ac/events"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// FlowOrigin is the kind of origin of a job that is a step of a workflow. FlowRef makes the
// origin's ref.
const FlowOrigin = "workflow"

// FlowRef returns the ref of a step of a workflow's run.
func FlowRef(run, step string) string { return run + "/" + step }

// FlowOf returns the run and the step that a job claims as its origin.
func FlowOf(record doc.Job) (run, step string, ok bool) {
	if record.Order == nil || record.Order.Origin == nil || record.Order.Origin.Kind != FlowOrigin {
		return "", "", false
	}
	run, step, ok = strings.Cut(record.Order.Origin.Ref, "/")
	return run, step, ok && workspace.SafeID(run)
}

// attemptPayload is the payload of workflow.step.attempt.
type attemptPayload struct {
	Step  string `json:"step"`
	RunID string `json:"run_id"`
}

// tellFlow records an attempt of a step in the log of the workflow's run. A submitter may claim any
// origin, so tellFlow trusts only the workflow's own record.
func (r *runner) tellFlow(u *workspace.Unit, record doc.Job, attempt string) error {
	run, step, ok := FlowOf(record)
	if !ok {
		return nil
	}
	flow, err := workspace.LoadIn(u, doc.WorkflowRunCodec, workspace.WorkflowRunFile(r.project, run))
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(flow.Steps, func(s doc.FlowStep) bool { return s.Step == step && s.JobID == r.id }) {
		return nil
	}
	r.flow = &flow
	draft, err := r.w.Events.Draft(events.Draft{
		RunID: run, SessionRef: "local_" + run, Actor: events.ActorSystem, Visibility: events.VisibilityTeam, Type: events.WorkflowStepAttempt,
	}, attemptPayload{step, attempt})
	if err != nil {
		return err
	}
	u.Append(workspace.LogFile(r.project, run), draft)
	return nil
}

// LoadIn reads a job as the unit will leave it. Unlike Poll, it changes nothing.
func LoadIn(u *workspace.Unit, project, id string) (doc.Job, error) {
	return jobRef{project, id}.loadIn(u)
}

// Load reads a job as stored. Unlike Poll, it changes nothing.
func Load(w *workspace.Workspace, project, id string) (doc.Job, error) {
	return jobRef{project, id}.load(w)
}

// CanRunJobs reports whether an agent can do jobs at all. A command needs a command line.
func CanRunJobs(agent doc.Agent) bool {
	return doc.AnyWorkerKindOf(agent.Provider) != doc.WorkerCmd || len(template(agent)) > 0
}

// EnqueueStep is Enqueue for a workflow step, whose job id is derived from the step. If that job
// already exists, the error is fault.Conflict. EnqueueStep does not check whether the order's place
// is available: the job itself ends as blocked if not.
func EnqueueStep(u *workspace.Unit, starter *Starter, spec doc.JobSpec, order *doc.JobOrder) (string, func(context.Context) error, error) {
	if u.Exists(jobRef{spec.ProjectID, spec.JobID}.record()) {
		return "", nil, fault.New(fault.Conflict, "job %s exists already", spec.JobID)
	}
	return enqueue(u, starter, spec, order)
}
