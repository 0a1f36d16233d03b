package orchestration

// The full records of workflow runs, with templates and texts, for the protocols of other
// programs.

import (
	"context"

	"ac/company"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace/doc"
)

// WorkflowRecordParams identify a workflow run.
type WorkflowRecordParams struct {
	WorkflowRunParams
	// AsWritten returns the stored record without advancing the run.
	AsWritten bool `json:"-"`
}

// WorkflowRecord returns the record of a workflow run with its templates and texts. It first
// advances the run if a step is due. A run of no workflow is fault.NotFound.
func (c Operations) WorkflowRecord(ctx context.Context, p WorkflowRecordParams) (doc.WorkflowRun, error) {
	if p.AsWritten {
		return workflow.Load(c.Workspace(), p.ProjectID, p.RunID)
	}
	return c.Flows().Advance(ctx, p.ProjectID, p.RunID)
}

// WorkflowRecords returns the records of all workflow runs of a project, unordered. It leaves out
// unreadable ones.
func (c Operations) WorkflowRecords(ctx context.Context, p company.ProjectParams) (list []doc.WorkflowRun, err error) {
	ids, err := workflow.All(c.Workspace(), p.ProjectID)
	for _, id := range ids {
		record, err := workflow.Load(c.Workspace(), p.ProjectID, id)
		if err == nil && !record.Over() {
			record, err = c.Flows().Advance(ctx, p.ProjectID, id)
		}
		if err == nil {
			list = append(list, record)
		}
	}
	return list, err
}

// StepAttemptsParams identify the job of a step.
type StepAttemptsParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	JobID     string `json:"job_id" is:"id"`
}

// StepAttempt is the run of one attempt of a job, with its usage, nil if unknown.
type StepAttempt struct {
	RunID string
	Usage *doc.Usage
}

// StepAttempts returns the runs of a job's attempts, in order. A deleted job has none.
func (c Operations) StepAttempts(_ context.Context, p StepAttemptsParams) (list []StepAttempt, err error) {
	record, err := job.Load(c.Workspace(), p.ProjectID, p.JobID)
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
