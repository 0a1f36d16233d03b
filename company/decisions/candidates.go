package decisions

// memory.extract_candidates: suggestions for memory from the results of a job.

import (
	"context"

	"ac/company"
	"ac/heartbeat/job"
	"ac/internal/fault"
)

// CandidatesParams are the params of memory.extract_candidates.
type CandidatesParams struct {
	company.Dir
	company.ActorParams
	ProjectID string `json:"project_id" is:"id"`
	JobID     string `json:"job_id,omitempty" is:"optional,id"`
	RunID     string `json:"run_id,omitempty" is:"optional,id"`
	Limit     int    `json:"limit,omitempty" is:"default=20,min=1,cut=100"`
}

// CheckFields requires a job or a run.
func (p *CandidatesParams) CheckFields() []fault.Issue {
	if p.JobID == "" && p.RunID == "" {
		return []fault.Issue{{Path: []any{"job_id"}, Code: "custom", Message: "job_id or run_id is required"}}
	}
	return nil
}

// ExtractCandidates suggests additions to memory from the results of a job.
func (c Operations) ExtractCandidates(ctx context.Context, p CandidatesParams) (job.CandidateReport, error) {
	return job.Candidates(ctx, c.Workspace(), job.CandidateRequest{ProjectID: p.ProjectID, JobID: p.JobID, RunID: p.RunID, Actor: p.Actor(), Limit: p.Limit})
}
