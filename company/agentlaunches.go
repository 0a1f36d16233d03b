package company

// Jobs that agents launch, as runs and jobs know them.

import (
	"ac/heartbeat/job"
	"ac/workspace/doc"
)

// originNote marks the reference of a job to the run whose agent launched it.
const originNote = "launched by the agent of this run"

// originOf is the run whose agent launched a job, "" for none.
func originOf(spec doc.JobSpec) string {
	for _, ref := range spec.ContextRefs {
		if ref.Kind == "note" && ref.Description == originNote {
			return ref.Value
		}
	}
	return ""
}

// LaunchedBy are the agents that work on jobs which the agent of a run launched.
func (c *Company) LaunchedBy(project, run string) (agents []string, err error) {
	records, err := job.All(c.w, project)
	for _, r := range records {
		if originOf(r.Job) == run {
			agents = append(agents, r.Job.WorkerAgentID)
		}
	}
	return agents, err
}

// launchedPayload is the payload of job.launched.
type launchedPayload struct {
	JobID string `json:"job_id"`
	Goal  string `json:"goal"`
}
