package snapshot

// Jobs: their counts by status, and the runs that are their attempts.

import (
	"path"

	"ac/heartbeat/job"
	"ac/index"
	"ac/workspace"
	"ac/workspace/doc"
)

// JobCounts holds the numbers of jobs by status.
type JobCounts struct {
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Completed int `json:"completed"`
	Canceled  int `json:"canceled"`
}

// countJobs counts the jobs of a project, or of all projects if it is "". It skips invalid records.
func countJobs(w *workspace.Workspace, project string) (n JobCounts) {
	projects := []string{project}
	if project == "" {
		projects, _ = workspace.Dirs(w.FS, workspace.ProjectsDir) // none if they cannot be listed
	}
	for _, p := range projects {
		dir := path.Join(workspace.ProjectDir(p), "jobs")
		ids, _ := workspace.Dirs(w.FS, dir)
		records := workspace.ReadEach(ids, func(id string) (doc.Job, error) {
			return workspace.Load(w, doc.JobCodec, path.Join(dir, id, "job.yaml"))
		})
		for _, r := range records {
			switch r.Status {
			case "queued":
				n.Queued++
			case "running":
				n.Running++
			case "completed":
				n.Completed++
			case "canceled":
				n.Canceled++
			}
		}
	}
	return n
}

// jobsOf returns the records of a project's jobs. The view owns the slice.
func (m *View) jobsOf(project string) ([]doc.Job, error) {
	if list, read := m.jobs[project]; read {
		return list, nil
	}
	list, err := job.All(m.w, project)
	if err != nil {
		return nil, err
	}
	if m.jobs == nil {
		m.jobs = map[string][]doc.Job{}
	}
	m.jobs[project] = list
	return list, nil
}

// Attempts maps each run that is an attempt of a job to the id of that job.
func (m *View) Attempts() (map[index.RunKey]string, error) {
	projects, err := workspace.Dirs(m.w.FS, workspace.ProjectsDir)
	if err != nil {
		return nil, err
	}
	of := map[index.RunKey]string{}
	for _, project := range projects {
		list, err := m.jobsOf(project)
		if err != nil {
			return nil, err
		}
		for i := range list {
			for _, attempt := range list[i].Attempts {
				of[index.RunKey{ProjectID: project, RunID: attempt.RunID}] = list[i].Job.JobID
			}
		}
	}
	return of, nil
}
