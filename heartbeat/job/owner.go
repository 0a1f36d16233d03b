package job

// Ownership of a job: the owner holds its kernel lock. The owner file serves other programs, and
// marks ownership while a runner starts.

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/workspace"
)

// ownerRecord is the content of the owner file.
type ownerRecord struct {
	SchemaVersion int    `json:"schema_version"`
	Type          string `json:"type"`
	PID           int    `json:"pid"`
	ProcessStart  string `json:"process_start"`
	AcquiredAt    string `json:"acquired_at"`
	// Starting marks the file of a process that is starting a runner.
	Starting bool `json:"starting,omitempty"`
}

// startPatience is how long a process that starts a runner counts as the owner.
const startPatience = time.Minute

// maxOwner bounds the owner file, in bytes.
const maxOwner = 64 << 10

// ownerText returns the owner file of this process.
func ownerText(w *workspace.Workspace, starting bool) ([]byte, error) {
	self := proc.Self()
	text, err := json.Marshal(ownerRecord{
		SchemaVersion: 1, Type: "job_owner", PID: self.PID, ProcessStart: self.Start,
		AcquiredAt: clock.Stamp(w.Env.Clock.Now()), Starting: starting,
	})
	return append(text, '\n'), err
}

// owned reports whether a process owns the job, and whether the job has an owner file. Jobs of
// other programs may lack that file.
func (p jobRef) owned(w *workspace.Workspace) (alive, recorded bool) {
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

// running reports whether a runner holds the job's lock.
func (p jobRef) running(w *workspace.Workspace) bool {
	busy, err := lock.Busy(w.FS, p.lock())
	return busy || err != nil
}

// eachOwned calls visit for each job with an owner file, until visit returns true. A failure with
// one job does not affect the others.
func eachOwned(w *workspace.Workspace, visit func(jobRef) (over bool, err error)) error {
	projects, err := workspace.Dirs(w.FS, workspace.JobOwnersDir)
	for _, project := range projects {
		names, listErr := workspace.Files(w.FS, path.Join(workspace.JobOwnersDir, project), ".json")
		err = errors.Join(err, listErr)
		for _, name := range names {
			id, ok := strings.CutSuffix(name, path.Base(workspace.JobOwnerFile(project, "")))
			if !ok {
				continue
			}
			over, visitErr := visit(jobRef{project, id})
			if err = errors.Join(err, visitErr); over {
				return err
			}
		}
	}
	return err
}

// Running returns the id of a job that a live process owns according to its owner file, "" if there
// is none. If the file lacks the process's start time, Running checks only the pid.
func Running(w *workspace.Workspace) (id string, err error) {
	err = eachOwned(w, func(p jobRef) (over bool, err error) {
		text, err := durable.ReadFile(w.FS, p.owner(), maxOwner)
		var owner ownerRecord
		if err != nil || json.Unmarshal(text, &owner) != nil {
			return false, nil //nolint:nilerr // it names no process
		}
		alive := owner.ProcessStart == "" && owner.PID > 0 && proc.Exists(owner.PID)
		if alive = alive || (proc.Identity{PID: owner.PID, Start: owner.ProcessStart}).Alive(); alive {
			id = p.id
		}
		return alive, nil
	})
	return id, err
}
