package snapshot

// How many jobs there are, by their status.

import (
	"path"

	"ac/internal/yamldoc"
	"ac/workspace"
)

// JobCounts are the jobs by status.
type JobCounts struct {
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Completed int `json:"completed"`
	Canceled  int `json:"canceled"`
}

// jobRecord is the part of a job's record that is counted.
type jobRecord struct {
	SchemaVersion int    `json:"schema_version" is:"min=1"`
	Type          string `json:"type" is:"enum=job_record"`
	Status        string `json:"status" is:"enum=queued|running|completed|canceled"`
}

var jobRecordCodec = yamldoc.For[jobRecord]()

// countJobs counts the jobs of a project, of all when it is "". Records that do
// not fit are not counted.
func countJobs(w *workspace.Workspace, project string) (n JobCounts) {
	projects := []string{project}
	if project == "" {
		projects, _ = workspace.Dirs(w.FS, workspace.ProjectsDir) // none where they cannot be listed
	}
	for _, p := range projects {
		dir := path.Join(workspace.ProjectDir(p), "jobs")
		ids, _ := workspace.Dirs(w.FS, dir)
		records := workspace.ReadEach(ids, func(id string) (jobRecord, error) {
			text, err := w.Read(path.Join(dir, id, "job.yaml"))
			if err != nil {
				return jobRecord{}, err
			}
			return jobRecordCodec.Decode(text)
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
