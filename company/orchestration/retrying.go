package orchestration

// A job or a run of a workflow once more, as a person asks for it who names what is over.

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

// RetryParams name what is done once more, and who asks for it.
type RetryParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	ID        string `json:"id" is:"id"` // of the job, or of the run
	company.ActorParams
}

// RetryJob submits a job that is over again, with its spec and its order, as SubmitJob does: it
// begins anew under its id, and its past is kept. One that is not over is fault.RunBusy. An
// agent who asks is its manager from then on.
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
			again.Job.WorkerKind, order.WorkerKind = order.WorkerKind, "" // it is written anew
		}
		again.Order = &order
	}
	if p.ActorRole != "human" {
		again.Job.ManagerActorID, again.Job.ManagerRole, again.Job.ManagerTeamID = p.ActorID, p.ActorRole, p.ActorTeamID
	}
	return c.SubmitJob(ctx, again)
}

// RetryWorkflow begins a run of a workflow with the template that one which is over began with,
// and what it was given. One that is not over is fault.RunBusy.
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
	return RunWorkflowResult{record.RunID, record.Status}, workflow.Unfit(err, "template")
}
