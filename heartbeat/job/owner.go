package job

// Who runs a job: whoever holds its kernel lock. The owner file beside it is for
// other programs, and for the moments in which a runner starts.

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/workspace"
)

// ownerRecord is the owner file.
type ownerRecord struct {
	SchemaVersion int    `json:"schema_version"`
	Type          string `json:"type"`
	PID           int    `json:"pid"`
	ProcessStart  string `json:"process_start"`
	AcquiredAt    string `json:"acquired_at"`
	// Starting marks the file of a process that starts a runner.
	Starting bool `json:"starting,omitempty"`
}

// startPatience is how long a process that starts a runner counts as the owner.
const startPatience = time.Minute

// maxOwner bounds the owner file.
const maxOwner = 64 << 10

// ownerText is the owner file of this process.
func ownerText(w *workspace.Workspace, starting bool) ([]byte, error) {
	self := proc.Self()
	text, err := json.Marshal(ownerRecord{
		SchemaVersion: 1, Type: "job_owner", PID: self.PID, ProcessStart: self.Start,
		AcquiredAt: clock.Stamp(w.Env.Clock.Now()), Starting: starting,
	})
	return append(text, '\n'), err
}

// owned tells whether somebody runs the job, and whether it has an owner file,
// which jobs of other programs may lack.
func (p place) owned(w *workspace.Workspace) (alive, recorded bool) {
	text, err := durable.ReadFile(w.FS, p.owner(), maxOwner)
	recorded = !errors.Is(err, fs.ErrNotExist)
	if busy, err := lock.Busy(w.FS, p.lock()); busy || err != nil {
		return true, recorded
	}
	var owner ownerRecord
	if err != nil || json.Unmarshal(text, &owner) != nil {
		return false, recorded
	}
	alive = proc.Identity{PID: owner.PID, Start: owner.ProcessStart}.Alive()
	if at, ok := clock.Parse(owner.AcquiredAt); owner.Starting && (!ok || w.Env.Clock.Now().Sub(at) > startPatience) {
		alive = false
	}
	return alive, recorded
}

// running reports whether a runner holds the job.
func (p place) running(w *workspace.Workspace) bool {
	busy, err := lock.Busy(w.FS, p.lock())
	return busy || err != nil
}
