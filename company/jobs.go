package company

// job.*: jobs of workers.

import (
	"context"
	"errors"
	"slices"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// jobKey is a job whose runner this process started.
type jobKey struct{ dir, project, id string }

// SubmitJobParams are the params of job.submit.
type SubmitJobParams struct {
	Job   doc.JobSpec   `json:"job"`
	Order *doc.JobOrder `json:"order,omitempty" is:"optional"`
}

// CheckFields rejects fields of an order that only ac may set.
func (p *SubmitJobParams) CheckFields() []fault.Issue {
	if p.Order != nil && p.Order.WorkerKind != "" {
		return []fault.Issue{{Path: []any{"order", "worker_kind"}, Code: "custom", Message: "is ac's own: name the kind in job.worker_kind"}}
	}
	return nil
}

// InWorkspace returns the workspace that the job names.
func (p SubmitJobParams) InWorkspace() string { return p.Job.WorkspaceDir }

// SubmittedJob is the result of job.submit.
type SubmittedJob struct {
	WorkspaceDir string `json:"workspace_dir"`
	ProjectID    string `json:"project_id"`
	JobID        string `json:"job_id"`
	Status       string `json:"status"`
}

// SubmitJob creates a job and starts its runner.
func (c *Company) SubmitJob(ctx context.Context, p SubmitJobParams) (SubmittedJob, error) {
	record, err := job.Submit(ctx, c.w, c.host.runners, p.Job, p.Order)
	if err != nil {
		return SubmittedJob{}, err
	}
	c.host.remember(c.dir, p.Job.ProjectID, record.Job.JobID)
	return SubmittedJob{p.Job.WorkspaceDir, p.Job.ProjectID, record.Job.JobID, record.Status}, nil
}

// remember records a job whose runner this process started.
func (cs *Host) remember(dir, project, id string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	mine := jobKey{dir, project, id}
	if !slices.Contains(cs.submitted, mine) {
		cs.submitted = append(cs.submitted, mine)
	}
}

// JobParams are the params of job.poll, job.collect and job.cancel.
type JobParams struct {
	Dir
	ProjectID string `json:"project_id" is:"id"`
	JobID     string `json:"job_id" is:"id"`
}

// JobRow is a job as returned by job.poll.
type JobRow struct {
	WorkspaceDir          string           `json:"workspace_dir"`
	ProjectID             string           `json:"project_id"`
	JobID                 string           `json:"job_id"`
	Status                string           `json:"status"`
	CancellationRequested bool             `json:"cancellation_requested"`
	CurrentAttempt        int              `json:"current_attempt"`
	Attempts              []doc.JobAttempt `json:"attempts"`
	FinalResultRelpath    string           `json:"final_result_relpath,omitempty"`
	// Order is the order of the job, without its attachments.
	Order *doc.JobOrder `json:"order,omitempty"`
}

func jobRow(dir, project string, record doc.Job) JobRow {
	order := record.Order
	if order != nil {
		shown := *order
		shown.Attachments = nil
		order = &shown
	}
	return JobRow{
		dir, project, record.Job.JobID, record.Status, record.CancellationRequested, record.CurrentAttempt,
		append([]doc.JobAttempt{}, record.Attempts...), record.FinalResultRelpath, order,
	}
}

// PollJob returns the current state of a job.
func (c *Company) PollJob(ctx context.Context, p JobParams) (JobRow, error) {
	record, err := job.Poll(ctx, c.w, c.host.runners, p.ProjectID, p.JobID)
	return jobRow(p.WorkspaceDir, p.ProjectID, record), err
}

// CollectedJob is the result of job.collect.
type CollectedJob struct {
	JobRow
	Result          *doc.JobResult       `json:"result,omitempty"`
	ManagerDigest   *job.Digest          `json:"manager_digest,omitempty"`
	HeartbeatReport *doc.HeartbeatReport `json:"heartbeat_report,omitempty"`
	Answer          *doc.JobAnswer       `json:"answer,omitempty"`
}

// CollectJob returns the current state and the results of a job. It does not
// wait.
func (c *Company) CollectJob(ctx context.Context, p JobParams) (CollectedJob, error) {
	w := c.w
	record, err := job.Poll(ctx, w, c.host.runners, p.ProjectID, p.JobID)
	if err != nil {
		return CollectedJob{}, err
	}
	left := job.Results{}
	if record.Over() {
		if left, err = job.Collect(w, p.ProjectID, p.JobID); err != nil {
			return CollectedJob{}, err
		}
	}
	return CollectedJob{jobRow(p.WorkspaceDir, p.ProjectID, record), left.Result, left.Digest, left.Report, left.Answer}, nil
}

// CancelJob cancels a job and stops its session.
func (c *Company) CancelJob(ctx context.Context, p JobParams) (JobRow, error) {
	record, err := job.Cancel(ctx, c.w, c.host.runners, p.ProjectID, p.JobID)
	return jobRow(p.WorkspaceDir, p.ProjectID, record), err
}

// ListJobsParams are the params of job.list.
type ListJobsParams struct {
	Dir
	ProjectID string `json:"project_id" is:"id"`
	Status    string `json:"status,omitempty" is:"optional,enum=queued|running|completed|canceled"`
	Kind      string `json:"kind,omitempty" is:"optional,enum=execution|heartbeat"`
	Newest    bool   `json:"newest" is:"default=false"`
	Limit     int    `json:"limit" is:"default=200,min=1,cut=5000"`
	// Skip excludes jobs by id; nil excludes none.
	Skip func(id string) bool `json:"-"`
}

// ListJobs lists the jobs of a project by id, or newest first.
func (c *Folder) ListJobs(ctx context.Context, p ListJobsParams) ([]JobRow, error) {
	rows := []JobRow{}
	opened, err := c.Enter(ctx)
	if isNotAWorkspace(err) {
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	records, err := opened.JobRecords(ctx, p)
	for _, record := range records {
		rows = append(rows, jobRow(p.WorkspaceDir, p.ProjectID, record))
	}
	return rows, err
}

// JobRecords returns the full records of the jobs that ListJobs would list. It is for code of
// this binary, not for requests.
func (c *Company) JobRecords(ctx context.Context, p ListJobsParams) ([]doc.Job, error) {
	return job.List(ctx, c.w, c.host.runners, p.ProjectID, job.Filter{
		Status: p.Status, Kind: p.Kind, Newest: p.Newest, Limit: p.Limit, Skip: p.Skip,
	})
}

// JobRecord returns the full record of a job; see JobRecords.
func (c *Company) JobRecord(ctx context.Context, p JobParams) (doc.Job, error) {
	return job.Poll(ctx, c.w, c.host.runners, p.ProjectID, p.JobID)
}

// AwaitJob waits for the end of a job and returns its results. Only commands use it.
func (c *Company) AwaitJob(ctx context.Context, p JobParams) (CollectedJob, error) {
	if _, err := job.Await(ctx, c.w, c.host.runners, p.ProjectID, p.JobID); err != nil {
		return CollectedJob{}, err
	}
	return c.CollectJob(ctx, p)
}

// cancelSubmitted cancels the jobs that this process submitted and waits until they end.
func (cs *Host) cancelSubmitted(ctx context.Context) (err error) {
	cs.mu.Lock()
	jobs := slices.Clone(cs.submitted)
	cs.mu.Unlock()
	still := jobs[:0]
	for _, j := range jobs {
		p := JobParams{Dir{j.dir}, j.project, j.id}
		row, pollErr := Do(ctx, cs, (*Company).PollJob, p)
		if isNotAWorkspace(pollErr) || fault.Is(pollErr, fault.NotFound) || row.FinalResultRelpath != "" {
			continue // missing or finished
		}
		_, cancelErr := Do(ctx, cs, (*Company).CancelJob, p)
		err = errors.Join(err, pollErr, cancelErr)
		still = append(still, j)
	}
	for _, j := range still {
		_, awaitErr := Do(ctx, cs, (*Company).AwaitJob, JobParams{Dir{j.dir}, j.project, j.id})
		err = errors.Join(err, awaitErr)
	}
	return err
}

// JobNames returns the stored records of a project's jobs, for shell completion.
func (c *Company) JobNames(_ context.Context, p ProjectParams) ([]doc.Job, error) {
	return job.All(c.w, p.ProjectID)
}
