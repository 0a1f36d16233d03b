package snapshot

// The number of jobs by status.

import (
	"path"

	"ac/workspace"
	"ac/workspace/doc"
)

// JobCounts are the numbers of jobs by status.
type JobCounts struct {
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Completed int `json:"completed"`
	Canceled  int `json:"canceled"`
}

// countJobs counts the jobs of a project, or of all if it is "". Invalid
// records are not counted.
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
