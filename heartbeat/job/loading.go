package job

// Reading jobs, and taking over jobs whose runner has died.

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"ac/heartbeat/answer"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/shape"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// maxStored bounds the files of a job, in bytes.
const maxStored = 16 << 20

// foreignPatience is how long a job of another program, without an owner file, is left alone after
// the last change of its record.
const foreignPatience = 30 * time.Minute

// Poll returns the current record of a job. If its runner died, Poll ends the
// job or starts a new runner. An unknown job is fault.NotFound.
func Poll(ctx context.Context, w *workspace.Workspace, starter *Starter, project, id string) (doc.Job, error) {
	return current(ctx, w, starter, jobRef{project, id})
}

func current(ctx context.Context, w *workspace.Workspace, starter *Starter, p jobRef) (doc.Job, error) {
	if !workspace.SafeID(p.id) || !workspace.SafeID(p.project) {
		return doc.Job{}, fault.New(fault.NotFound, "job %s does not exist in project %s", p.id, p.project)
	}
	record, err := p.load(w)
	if err == nil && record.Over() {
		p.tidy(ctx, w)
		return record, nil
	}
	if err != nil || p.mayBeExecuting(w, record) {
		return record, err
	}
	held, err := lock.Try(w.FS, p.lock())
	if errors.Is(err, lock.ErrBusy) {
		return record, nil // another process is taking it over
	}
	if err != nil {
		return record, err
	}
	reconciled, goOn, err := reconcile(ctx, w, p)
	err = errors.Join(err, held.RemoveAndRelease())
	if fault.Is(err, fault.Locked) {
		return record, nil // the next read reconciles it
	}
	if err != nil || !goOn {
		return reconciled, err
	}
	return reconciled, starter.start(ctx, w, p)
}

// tidy completes the end of a job whose writer died before it removed the owner file.
func (p jobRef) tidy(ctx context.Context, w *workspace.Workspace) {
	if w.Exists(p.owner()) {
		_ = w.Recover(ctx) // best effort: the record is final, and every later write retries this
	}
}

// mayBeExecuting reports whether some process may still be executing an active job.
func (p jobRef) mayBeExecuting(w *workspace.Workspace, record doc.Job) bool {
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

// Filter selects and orders the jobs of a list.
type Filter struct {
	Status string // "" for all
	Kind   string // "" for all
	Newest bool   // newest first, instead of by id
	Limit  int
	Skip   func(id string) bool // skips jobs without reading them; may be nil
}

func (f Filter) takes(record doc.Job) bool {
	return (f.Status == "" || f.Status == record.Status) && (f.Kind == "" || f.Kind == record.Job.JobKind)
}

// List returns the jobs of a project, by id or newest first, each as Poll returns it. It skips
// unreadable records. An unknown project has no jobs.
func List(ctx context.Context, w *workspace.Workspace, starter *Starter, project string, only Filter) ([]doc.Job, error) {
	ids, err := workspace.Dirs(w.FS, jobsDir(project))
	if err != nil {
		return nil, err
	}
	jobs := []doc.Job{}
	for _, id := range ids {
		if len(jobs) >= only.Limit && !only.Newest {
			break
		}
		if only.Skip != nil && only.Skip(id) {
			continue
		}
		record, err := current(ctx, w, starter, jobRef{project, id})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil && only.takes(record) {
			jobs = append(jobs, record)
		}
	}
	if only.Newest {
		slices.SortStableFunc(jobs, func(a, b doc.Job) int {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.Job.JobID, a.Job.JobID))
		})
		jobs = jobs[:min(len(jobs), only.Limit)]
	}
	return jobs, nil
}

// All returns the records of a project's jobs as stored, for read models. It signals,
// writes and starts nothing. It skips unreadable records.
func All(w *workspace.Workspace, project string) ([]doc.Job, error) {
	ids, err := workspace.Dirs(w.FS, jobsDir(project))
	if err != nil {
		return nil, err
	}
	return workspace.ReadEach(ids, func(id string) (doc.Job, error) { return jobRef{project, id}.load(w) }), nil
}

// Results are the result files of a job; nil for missing ones.
type Results struct {
	Result *doc.JobResult
	Digest *Digest
	Report *doc.HeartbeatReport
	Answer *doc.JobAnswer
}

// Collect reads the results of a job. An unreadable file is fault.InvalidFile.
func Collect(w *workspace.Workspace, project, id string) (r Results, err error) {
	p := jobRef{project, id}
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

// stored reads a JSON document of a job, nil if it does not exist.
func stored[T any](w *workspace.Workspace, name string, bind func(*shape.Value) (T, error)) (*T, error) {
	text, err := durable.ReadFile(w.FS, name, maxStored)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.InvalidFile, "%s cannot be read: %w", name, err)
	}
	value, ok := answer.Parse(string(text))
	if !ok {
		return nil, fault.New(fault.InvalidFile, "%s is not JSON", name)
	}
	document, err := bind(&value)
	if err != nil {
		return nil, fault.New(fault.InvalidFile, "%s: %w", name, err)
	}
	return &document, nil
}

// awaitEvery is the polling interval of Await.
const awaitEvery = 25 * time.Millisecond

// Await waits until a job has ended. If its runner dies, Await takes over as Poll does.
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

// ReconcileOwned polls every job of a workspace that has an owner file. This ends or continues jobs whose
// runners died unnoticed. A failure with one job does not affect the others.
func ReconcileOwned(ctx context.Context, w *workspace.Workspace, starter *Starter) error {
	return eachOwned(w, func(p jobRef) (over bool, err error) {
		if over = ctx.Err() != nil; over {
			return over, nil //nolint:nilerr // the next who looks finds the others
		}
		if _, err := current(ctx, w, starter, p); !fault.Is(err, fault.NotFound) {
			return false, err
		}
		return false, nil
	})
}

// IsAttempt reports whether a session_ref belongs to an attempt of a job with this run.
func IsAttempt(ref, run string) bool {
	rest, ok := strings.CutPrefix(ref, refPrefix)
	_, attempt, cut := strings.Cut(rest, "_attempt_")
	return ok && cut && strings.HasSuffix(attempt, "_"+run)
}

// OpenJobOf returns the id of the unfinished job whose attempt has this session_ref, "" if there is
// none.
func OpenJobOf(w *workspace.Workspace, project, ref, run string) string {
	id, attempt, ok := strings.Cut(strings.TrimPrefix(ref, refPrefix), "_attempt_")
	if !ok || !strings.HasPrefix(ref, refPrefix) || !strings.HasSuffix(attempt, "_"+run) || CheckID(id) != "" {
		return ""
	}
	record, err := jobRef{project, id}.load(w)
	if err != nil || record.Over() {
		return ""
	}
	return id
}
