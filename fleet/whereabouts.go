package fleet

// Where a session on another machine runs, for lists.

import (
	"ac/workspace"
	"ac/workspace/doc"
)

// Whereabouts is what lists show of a session on another machine. It is empty for others.
type Whereabouts struct {
	WorkerID   string `json:"worker_id,omitempty"`
	WorkerName string `json:"worker_name,omitempty"`
	Epoch      int    `json:"epoch,omitempty"`
	Reach      string `json:"reach,omitempty"` // placing, ok, unreachable or lost
}

// WhereaboutsOf returns the whereabouts of a session. A worker whose record cannot be read
// has no name.
func WhereaboutsOf(w *workspace.Workspace, s doc.Session) Whereabouts {
	if !s.Remote() {
		return Whereabouts{}
	}
	return Whereabouts{WorkerID: s.WorkerID, WorkerName: WorkerName(w, s.WorkerID), Epoch: s.Epoch, Reach: s.Reach}
}

// WorkerName is the name of a worker, "" if its record cannot be read.
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
