package fleet

// Where a remote session runs, for lists.

import (
	"ac/workspace"
	"ac/workspace/doc"
)

// Whereabouts is what lists show of a remote session. It is empty for local ones.
type Whereabouts struct {
	WorkerID   string `json:"worker_id,omitempty"`
	WorkerName string `json:"worker_name,omitempty"`
	Epoch      int    `json:"epoch,omitempty"`
	Reach      string `json:"reach,omitempty"` // placing, ok, unreachable or lost
}

// WhereaboutsOf returns the whereabouts of a session. The name is empty if the worker's record is
// unreadable.
func WhereaboutsOf(w *workspace.Workspace, s doc.Session) Whereabouts {
	if !s.Remote() {
		return Whereabouts{}
	}
	return Whereabouts{WorkerID: s.WorkerID, WorkerName: WorkerName(w, s.WorkerID), Epoch: s.Epoch, Reach: s.Reach}
}

// WorkerName returns the name of a worker, or "" if its record is unreadable.
func WorkerName(w *workspace.Workspace, id string) string {
	if !IsWorker(id) {
		return ""
	}
	record, err := workspace.Load(w, WorkerCodec, WorkerFile(id))
	if err != nil {
		return ""
	}
	return record.Name
}
