package company

// Jobs that agents launch: the link between a job and the run that launched it.

import (
	"ac/heartbeat/job"
	"ac/workspace/doc"
)

// OriginNote is the description of the context reference that links a job to the run whose agent
// launched it.
const OriginNote = "launched by the agent of this run"

// OriginOf returns the run whose agent launched a job, "" for none.
func OriginOf(spec doc.JobSpec) string {
	for _, ref := range spec.ContextRefs {
		if ref.Kind == "note" && ref.Description == OriginNote {
			return ref.Value
		}
	}
	return ""
}

// LaunchedBy returns the agents that work on jobs launched by the agent of a run.
func (c *Company) LaunchedBy(project, run string) (agents []string, err error) {
	records, err := job.All(c.w, project)
	for _, r := range records {
		if OriginOf(r.Job) == run {
			agents = append(agents, r.Job.WorkerAgentID)
		}
	}
	return agents, err
}

// LaunchedPayload is the payload of job.launched.
type LaunchedPayload struct {
	JobID string `json:"job_id"`
	Goal  string `json:"goal"`
}
