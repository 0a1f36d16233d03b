package orchestration

// Runs of workflows as their records have them, with templates and texts: for the protocols
// of other programs, which tell them in their own words.

import (
	"context"

	"ac/company"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace/doc"
)

// WorkflowRecordParams name a run of a workflow.
type WorkflowRecordParams struct {
	WorkflowRunParams
	// AsWritten leaves what waits for somebody to look to others.
	AsWritten bool `json:"-"`
}

// WorkflowRecord is the record of a run of a workflow, templates and texts included, brought
// on where something waits for that. A run of no workflow is fault.NotFound.
func (c Operations) WorkflowRecord(ctx context.Context, p WorkflowRecordParams) (doc.WorkflowRun, error) {
	if p.AsWritten {
		return workflow.Load(c.Workspace(), p.ProjectID, p.RunID)
	}
	return c.Flows().Look(ctx, p.ProjectID, p.RunID)
}

// WorkflowRecords are those of all runs of workflows of a project, in no order. Those that
// cannot be read are left out.
func (c Operations) WorkflowRecords(ctx context.Context, p company.ProjectParams) (list []doc.WorkflowRun, err error) {
	ids, err := workflow.All(c.Workspace(), p.ProjectID)
	for _, id := range ids {
		record, err := workflow.Load(c.Workspace(), p.ProjectID, id)
		if err == nil && !record.Over() {
			record, err = c.Flows().Look(ctx, p.ProjectID, id)
		}
		if err == nil {
			list = append(list, record)
		}
	}
	return list, err
}

// StepAttemptsParams name a step's job.
type StepAttemptsParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	JobID     string `json:"job_id" is:"id"`
}

// StepAttempt is the run of one attempt of a job, with what it used; nil where nothing is
// known of that.
type StepAttempt struct {
	RunID string
	Usage *doc.Usage
}

// StepAttempts are the runs of a job's attempts, in order. A job that is gone has none.
func (c Operations) StepAttempts(_ context.Context, p StepAttemptsParams) (list []StepAttempt, err error) {
	record, err := job.Glance(c.Workspace(), p.ProjectID, p.JobID)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	for _, a := range record.Attempts {
		if a.RunID == "" {
			continue
		}
		one := StepAttempt{RunID: a.RunID}
		if run, err := runs.Load(c.Workspace(), p.ProjectID, a.RunID); err == nil {
			one.Usage = run.Usage
		}
		list = append(list, one)
	}
	return list, err
}
