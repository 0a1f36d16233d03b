package heartbeat

// Pending jobs: submitted, but not evaluated yet. If a tick dies or stops waiting, the next tick
// continues with them.

import (
	"encoding/json"
	"slices"

	"ac/internal/fault"
	"ac/workspace"
)

func pendingFile() string { return workspace.HeartbeatDir + "/pending.json" }

// pendingJob is a job whose report has not been evaluated.
type pendingJob struct {
	JobID         string `json:"job_id"`
	ProjectID     string `json:"project_id"`
	WorkerAgentID string `json:"worker_agent_id"`
	TickID        string `json:"tick_id"`
	// ActionsDone counts the actions of its report that were already arbitrated.
	ActionsDone int `json:"actions_done,omitempty"`
}

// is reports whether p is a job of a project. Only the two ids together name a job.
func (p pendingJob) is(project, job string) bool { return p.ProjectID == project && p.JobID == job }

// reader reads documents: a workspace or a unit.
type reader interface {
	Read(name string) ([]byte, error)
}

// pending reads the list of pending jobs. It drops invalid entries; an invalid file counts as
// empty.
func pending(r reader) ([]pendingJob, error) {
	text, err := r.Read(pendingFile())
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []pendingJob
	if json.Unmarshal(text, &list) != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return slices.DeleteFunc(list, func(p pendingJob) bool {
		return !workspace.SafeID(p.JobID) || !workspace.SafeID(p.ProjectID) || !workspace.SafeID(p.WorkerAgentID)
	}), nil
}

// changePending changes the list in a unit.
func changePending(u *workspace.Unit, fn func([]pendingJob) []pendingJob) error {
	list, err := pending(u)
	if err != nil {
		return err
	}
	list = append([]pendingJob{}, fn(list)...)
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return u.Write(pendingFile(), append(text, '\n'), 0o644)
}

// recordArbitrated records in a unit how many actions of a job have been arbitrated.
func recordArbitrated(u *workspace.Unit, p pendingJob, actions int) error {
	return changePending(u, func(list []pendingJob) []pendingJob {
		for i := range list {
			if list[i].is(p.ProjectID, p.JobID) {
				list[i].ActionsDone = actions
			}
		}
		return list
	})
}

// removePending removes a job from the list in a unit.
func removePending(u *workspace.Unit, p pendingJob) error {
	return changePending(u, func(list []pendingJob) []pendingJob {
		return slices.DeleteFunc(list, func(q pendingJob) bool { return q.is(p.ProjectID, p.JobID) })
	})
}
