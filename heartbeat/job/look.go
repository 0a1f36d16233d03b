package job

// Looking at jobs.

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"time"

	"ac/internal/canonjson"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/param"
	"ac/internal/shape"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// maxStored bounds the files of a job.
const maxStored = 16 << 20

// foreignPatience is how long a record of another program, which has no owner
// file, is left alone without any change.
const foreignPatience = 30 * time.Minute

// Poll gives the record of a job as it is now. One whose runner died is brought
// to its end, or given to a new runner. Unknown jobs are fault.NotFound.
func Poll(ctx context.Context, w *workspace.Workspace, starter *Starter, project, id string) (doc.Job, error) {
	return current(ctx, w, starter, place{project, id})
}

func current(ctx context.Context, w *workspace.Workspace, starter *Starter, p place) (doc.Job, error) {
	if !workspace.SafeID(p.id) || !workspace.SafeID(p.project) {
		return doc.Job{}, fault.New(fault.NotFound, "job %s does not exist in project %s", p.id, p.project)
	}
	record, err := p.load(w)
	if err == nil && record.Over() {
		p.tidy(ctx, w)
		return record, nil
	}
	if err != nil || p.attended(w, record) {
		return record, err
	}
	held, err := lock.Try(w.FS, p.lock())
	if errors.Is(err, lock.ErrBusy) {
		return record, nil // somebody takes it up just now
	}
	if err != nil {
		return record, err
	}
	settled, goOn, err := settle(ctx, w, p)
	err = errors.Join(err, held.Retire())
	if fault.Is(err, fault.Locked) {
		return record, nil // the next look settles it
	}
	if err != nil || !goOn {
		return settled, err
	}
	return settled, starter.start(ctx, w, p)
}

// tidy finishes the end of a job that is over, should its writer have died between
// the record and the removal of the owner's file.
func (p place) tidy(ctx context.Context, w *workspace.Workspace) {
	if w.Exists(p.owner()) {
		_ = w.Settle(ctx) // the record stands as it is, and every write tries the same
	}
}

// attended reports whether an active job is to be left alone.
func (p place) attended(w *workspace.Workspace, record doc.Job) bool {
	alive, recorded := p.owned(w)
	if alive || recorded {
		return alive
	}
	for _, attempt := range record.Attempts {
		if s, err := session.Read(w, attempt.SessionRef); err == nil && session.Live(w, s) {
			return true
		}
	}
	st, err := w.FS.Stat(p.record())
	return err != nil || w.Env.Clock.Now().Sub(st.ModTime()) < foreignPatience
}

// Filter narrows a list.
type Filter struct {
	Status string // "" for all
	Limit  int
}

// List gives the jobs of a project by id, as Poll gives each. Records that
// cannot be read are left out. Without a project there are none.
func List(ctx context.Context, w *workspace.Workspace, starter *Starter, project string, only Filter) ([]doc.Job, error) {
	ids, err := workspace.Dirs(w.FS, jobsDir(project))
	if err != nil {
		return nil, err
	}
	jobs := []doc.Job{}
	for _, id := range ids {
		if len(jobs) >= only.Limit {
			break
		}
		record, err := current(ctx, w, starter, place{project, id})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil && (only.Status == "" || only.Status == record.Status) {
			jobs = append(jobs, record)
		}
	}
	return jobs, nil
}

// All gives the records of a project's jobs as they are written, for read models:
// it neither signals nor writes nor starts anything. Records that cannot be read
// are left out.
func All(w *workspace.Workspace, project string) ([]doc.Job, error) {
	ids, err := workspace.Dirs(w.FS, jobsDir(project))
	if err != nil {
		return nil, err
	}
	return workspace.ReadEach(ids, func(id string) (doc.Job, error) { return place{project, id}.load(w) }), nil
}

// Results are what a job left; nil what it did not.
type Results struct {
	Result *doc.JobResult
	Digest *Digest
	Report *doc.HeartbeatReport
	Answer *doc.JobAnswer
}

// Collect reads what a job left. A file that cannot be read is
// fault.InvalidFile.
func Collect(w *workspace.Workspace, project, id string) (r Results, err error) {
	p := place{project, id}
	if r.Result, err = stored(w, p.result(), bindResult); err != nil {
		return r, err
	}
	if r.Digest, err = stored(w, p.digest(), digestCodec.Bind); err != nil {
		return r, err
	}
	if r.Report, err = stored(w, p.report(), doc.BindHeartbeatReport); err != nil {
		return r, err
	}
	r.Answer, err = stored(w, p.answer(), doc.BindJobAnswer)
	return r, err
}

func bindResult(v *shape.Value) (doc.JobResult, error) { return doc.JobResultCodec.Bind(v) }

// stored reads a JSON document of a job, nil when there is none.
func stored[T any](w *workspace.Workspace, name string, bind func(*shape.Value) (T, error)) (*T, error) {
	text, err := durable.ReadFile(w.FS, name, maxStored)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.InvalidFile, "%s cannot be read: %w", name, err)
	}
	value, ok := parse(string(text))
	if !ok {
		return nil, fault.New(fault.InvalidFile, "%s is not JSON", name)
	}
	document, err := bind(&value)
	if err != nil {
		return nil, fault.New(fault.InvalidFile, "%s: %w", name, err)
	}
	return &document, nil
}

// maxNesting bounds the nesting of JSON that is read.
const maxNesting = 512

// parse reads text that is one JSON value.
func parse(text string) (shape.Value, bool) {
	raw := []byte(text)
	if canonjson.Depth(raw) > maxNesting {
		return shape.Value{}, false
	}
	end, err := canonjson.Value(raw, 0)
	if err != nil || len(bytes.TrimSpace(raw[end:])) > 0 {
		return shape.Value{}, false
	}
	return param.Parse(raw), true
}

// awaitEvery is how often Await looks.
const awaitEvery = 25 * time.Millisecond

// Await waits until a job is over. What its runner's death leaves is taken up as
// Poll does.
func Await(ctx context.Context, w *workspace.Workspace, starter *Starter, project, id string) (doc.Job, error) {
	ticker := time.NewTicker(awaitEvery)
	defer ticker.Stop()
	for {
		record, err := Poll(ctx, w, starter, project, id)
		if err != nil || record.Over() {
			return record, err
		}
		select {
		case <-ctx.Done():
			return record, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// TakeUp looks at every job of a workspace that has an owner file, as Poll does:
// jobs whose runners died while nobody looked are ended, or go on. What is wrong
// with one does not keep it from the others.
func TakeUp(ctx context.Context, w *workspace.Workspace, starter *Starter) error {
	return eachOwned(w, func(p place) (over bool, err error) {
		if over = ctx.Err() != nil; over {
			return over, nil //nolint:nilerr // the next who looks finds the others
		}
		if _, err := current(ctx, w, starter, p); !fault.Is(err, fault.NotFound) {
			return false, err
		}
		return false, nil
	})
}
