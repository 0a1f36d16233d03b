package orchestration

// Retrying a finished job or workflow run that a person names.

import (
	"context"

	"ac/company"
	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace/doc"
)

// RetryParams identify what to retry and the actor.
type RetryParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	ID        string `json:"id" is:"id"` // of the job or the run
	company.ActorParams
}

// RetryJob submits a finished job again with its spec and order, as SubmitJob does. The job
// starts over under the same id and keeps its history. An unfinished job is fault.RunBusy. If the
// actor is an agent, it becomes the manager of the job.
func (c Operations) RetryJob(ctx context.Context, p RetryParams) (company.SubmittedJob, error) {
	record, err := job.Poll(ctx, c.Workspace(), c.Host().Runners(), p.ProjectID, p.ID)
	if err != nil {
		return company.SubmittedJob{}, err
	}
	if !record.Over() {
		return company.SubmittedJob{}, fault.New(fault.RunBusy, "job %s is %s; stop it, or wait", p.ID, record.Status)
	}
	again := company.SubmitJobParams{Job: record.Job}
	again.Job.WorkspaceDir = p.WorkspaceDir
	if record.Order != nil {
		order := *record.Order
		if order.WorkerKind != "" {
			again.Job.WorkerKind, order.WorkerKind = order.WorkerKind, "" // set again later
		}
		again.Order = &order
	}
	if p.ActorRole != "human" {
		again.Job.ManagerActorID, again.Job.ManagerRole, again.Job.ManagerTeamID = p.ActorID, p.ActorRole, p.ActorTeamID
	}
	return c.SubmitJob(ctx, again)
}

// RetryWorkflow starts a new workflow run with the template and the inputs of a finished one. An
// unfinished run is fault.RunBusy.
func (c Operations) RetryWorkflow(ctx context.Context, p RetryParams) (RunWorkflowResult, error) {
	before, err := workflow.Load(c.Workspace(), p.ProjectID, p.ID)
	if err != nil {
		return RunWorkflowResult{}, err
	}
	if !before.Over() {
		return RunWorkflowResult{}, fault.New(fault.RunBusy, "run %s is %s; stop it, or wait", p.ID, before.Status)
	}
	run, err := runs.Load(c.Workspace(), p.ProjectID, p.ID)
	if err != nil {
		return RunWorkflowResult{}, err
	}
	first := doc.FlowRound{}
	if len(before.Rounds) > 0 {
		first = before.Rounds[0]
	}
	record, err := c.Flows().Run(ctx, workflow.Start{
		ProjectID: p.ProjectID, WorkflowID: before.WorkflowID, Template: before.Templates[first.Template], Input: before.Input, Inputs: before.Inputs,
		Priority: before.Priority, Place: before.Place, SourcePath: before.SourcePath, Budget: run.Budget,
		Actor: policy.Actor{ID: p.ActorID, Role: p.ActorRole, Team: p.ActorTeamID},
	})
	return RunWorkflowResult{record.RunID, record.Status}, workflow.ParamError(err, "template")
}
