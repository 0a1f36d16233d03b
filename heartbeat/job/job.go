// Package job is the work that is given to workers: its record, the runner that
// executes it in attempts, and what comes out of it.
//
// Invariants: a job has one owner at a time, who holds its kernel lock; each
// change of its record is one unit, and the unit that ends it writes the result
// along; a job that is over never changes but for the note that somebody wanted
// it canceled; what a worker prints decides nothing but the result: its rights,
// its folder and its budget come from the job, the agent and the machine alone.
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

// maxAttempts is how often a job is tried where its order does not say less.
const maxAttempts = 3

// attemptsOf is how often a job is tried. What an agent simply said cannot be
// brought into shape.
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

// place is where the files of one job lie.
type place struct{ project, id string }

func jobsDir(project string) string { return path.Join(workspace.ProjectDir(project), "jobs") }

func (p place) dir() string             { return path.Join(jobsDir(p.project), p.id) }
func (p place) file(name string) string { return path.Join(p.dir(), name) }
func (p place) record() string          { return p.file("job.yaml") }
func (p place) result() string          { return p.file("result.json") }
func (p place) digest() string          { return p.file("manager_digest.json") }
func (p place) report() string          { return p.file("heartbeat_report.json") }
func (p place) answer() string          { return p.file("answer.json") }
func (p place) history() string         { return p.file("history") }
func (p place) resultRelpath() string   { return path.Join("jobs", p.id, "result.json") }

// owner is the file that says who runs the job.
func (p place) owner() string { return workspace.JobOwnerFile(p.project, p.id) }

// lock is the kernel lock that the owner holds; ids may be as long as a file
// name.
func (p place) lock() string {
	sum := sha256.Sum256([]byte(p.project + "\x00" + p.id))
	return workspace.LockFile("job-" + hex.EncodeToString(sum[:8]))
}

// refOf is the session_ref of an attempt.
func refOf(id string, attempt int, run string) string {
	return fmt.Sprintf("job_%s_attempt_%d_%s", id, attempt, run)
}

// CheckID says why a text cannot be the id of a job, or "": the session_refs of
// its attempts must be good ones.
func CheckID(id string) string {
	if !workspace.SafeID(id) {
		return "must be a name without slashes and control characters"
	}
	return session.CheckRef(refOf(id, maxAttempts, "run_"+strings.Repeat("0", 26)))
}

// load reads a record with its order. The document may be shared.
func (p place) load(w *workspace.Workspace) (doc.Job, error) {
	record, err := workspace.Load(w, doc.JobCodec, p.record())
	if err := p.known(record, err); err != nil {
		return record, err
	}
	text, err := p.readOrder(w)
	return p.truthful(record, text, err)
}

// loadIn reads a record, with its order, to change it.
func (p place) loadIn(u *workspace.Unit) (doc.Job, error) {
	record, err := workspace.LoadIn(u, doc.JobCodec, p.record())
	if err := p.known(record, err); err != nil {
		return record, err
	}
	text, err := u.Read(p.order())
	return p.truthful(record, text, err)
}

func (p place) known(record doc.Job, err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "job %s does not exist in project %s", p.id, p.project)
	}
	if err != nil {
		return err
	}
	return workspace.CheckID(p.record(), p.id, record.Job.JobID)
}

// put asks for a record to be written.
func (p place) put(u *workspace.Unit, record doc.Job) error {
	record.UpdatedAt = clock.Stamp(u.Workspace().Env.Clock.Now())
	text, err := doc.JobCodec.Encode(presentable(record))
	if err != nil {
		return err
	}
	return u.Write(p.record(), text, 0o644)
}
