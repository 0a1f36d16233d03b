// Package job manages the work given to workers: the record of a job, the runner that executes it
// in attempts, and its result.
//
// Invariants:
//   - A job has at most one owner: the process that holds its kernel lock, a lease that ends with
//     the process.
//   - Each change of its record is one unit. The unit that ends it also writes the result.
//   - A finished job never changes, except that a cancellation request is recorded.
//   - A worker's output determines only the result. Rights, folder and budget come from the job,
//     the agent and the machine.
package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// maxAttempts is how often a job is tried unless its order sets a limit.
const maxAttempts = 3

// attemptsOf returns how often a job is tried. Prose gets one attempt, because it has no format
// that could be repaired.
func attemptsOf(record doc.Job) int {
	switch o := record.Order; {
	case o == nil:
		return maxAttempts
	case o.Answer == doc.AnswerProse:
		return 1
	case o.Attempts > 0:
		return o.Attempts
	}
	return maxAttempts
}

// jobRef identifies a job. Its methods return the paths of the job's files.
type jobRef struct{ project, id string }

func jobsDir(project string) string { return path.Join(workspace.ProjectDir(project), "jobs") }

func (p jobRef) dir() string             { return path.Join(jobsDir(p.project), p.id) }
func (p jobRef) file(name string) string { return path.Join(p.dir(), name) }
func (p jobRef) record() string          { return p.file("job.yaml") }
func (p jobRef) result() string          { return p.file("result.json") }
func (p jobRef) digest() string          { return p.file("manager_digest.json") }
func (p jobRef) report() string          { return p.file("heartbeat_report.json") }
func (p jobRef) answer() string          { return p.file("answer.json") }
func (p jobRef) history() string         { return p.file("history") }
func (p jobRef) resultRelpath() string   { return path.Join("jobs", p.id, "result.json") }

// owner is the file that identifies the process that runs the job.
func (p jobRef) owner() string { return workspace.JobOwnerFile(p.project, p.id) }

// lock is the kernel lock that the owner holds. Its name is a hash, because ids may be as long as a
// file name.
func (p jobRef) lock() string {
	sum := sha256.Sum256([]byte(p.project + "\x00" + p.id))
	return workspace.LockFile("job-" + hex.EncodeToString(sum[:8]))
}

// refPrefix is the prefix of the session_refs of attempts.
const refPrefix = "job_"

// refOf returns the session_ref of an attempt.
func refOf(id string, attempt int, run string) string {
	return fmt.Sprintf(refPrefix+"%s_attempt_%d_%s", id, attempt, run)
}

// CheckID returns why a text cannot be the id of a job, "" if it can. The session_refs of the job's
// attempts must be valid.
func CheckID(id string) string {
	if !workspace.SafeID(id) {
		return "must be a name without slashes and control characters"
	}
	return session.CheckRef(refOf(id, maxAttempts, "run_"+strings.Repeat("0", 26)))
}

// load reads a record with its order. The record may be shared: callers must not modify it.
func (p jobRef) load(w *workspace.Workspace) (doc.Job, error) {
	record, err := workspace.Load(w, doc.JobCodec, p.record())
	if err := p.checkLoaded(record, err); err != nil {
		return record, err
	}
	text, err := p.readOrder(w)
	return p.withOrder(record, text, err)
}

// loadIn reads a record with its order in a unit, to change it.
func (p jobRef) loadIn(u *workspace.Unit) (doc.Job, error) {
	record, err := workspace.LoadIn(u, doc.JobCodec, p.record())
	if err := p.checkLoaded(record, err); err != nil {
		return record, err
	}
	text, err := u.Read(p.order())
	return p.withOrder(record, text, err)
}

func (p jobRef) checkLoaded(record doc.Job, err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "job %s does not exist in project %s", p.id, p.project)
	}
	if err != nil {
		return err
	}
	return workspace.CheckID(p.record(), p.id, record.Job.JobID)
}

// put queues writing a record.
func (p jobRef) put(u *workspace.Unit, record doc.Job) error {
	record.UpdatedAt = clock.Stamp(u.Workspace().Env.Clock.Now())
	text, err := doc.JobCodec.Encode(compatibleRecord(record))
	if err != nil {
		return err
	}
	return u.Write(p.record(), text, 0o644)
}
