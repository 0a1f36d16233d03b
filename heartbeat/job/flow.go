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

// FlowOrigin is the kind of origin of a job that is a step of a workflow. Its ref is
// what FlowRef makes.
const FlowOrigin = "workflow"

// FlowRef names a step of a run of a workflow.
func FlowRef(run, step string) string { return run + "/" + step }

// FlowOf is the run and the step that a job says it is of.
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

// tellFlow tells the log of a workflow's run of an attempt of one of its steps.
// Whoever submits a job may claim anything; only the workflow's own record counts.
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

// Peek reads a job as a unit leaves it, and does nothing about it.
func Peek(u *workspace.Unit, project, id string) (doc.Job, error) {
	return jobRef{project, id}.loadIn(u)
}

// Glance reads a job as it is written, and does nothing about it.
func Glance(w *workspace.Workspace, project, id string) (doc.Job, error) {
	return jobRef{project, id}.load(w)
}

// Usable reports whether an agent may do jobs at all: a command needs words.
func Usable(agent doc.Agent) bool {
	return doc.AnyWorkerKindOf(agent.Provider) != doc.WorkerCmd || len(template(agent)) > 0
}

// EnterStep is Enter for a job whose id follows from what it is a step of: one that
// is there already is fault.Conflict. Its place is not asked for whether it can be
// had; the job's own end tells.
func EnterStep(u *workspace.Unit, starter *Starter, spec doc.JobSpec, order *doc.JobOrder) (string, func(context.Context) error, error) {
	if u.Exists(jobRef{spec.ProjectID, spec.JobID}.record()) {
		return "", nil, fault.New(fault.Conflict, "job %s exists already", spec.JobID)
	}
	return enter(u, starter, spec, order)
}
