package job

// Canceling jobs, and noticing cancellations.

import (
	"context"
	"path/filepath"
	"time"

	"ac/internal/fault"
	"ac/internal/watch"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Cancel requests the cancellation of a job and stops its session. The request is durable on
// return. If the job is finished, Cancel only records the request. It returns the record right
// after the request: the runner ends the job later. If the job has no runner, Cancel ends it.
func Cancel(ctx context.Context, w *workspace.Workspace, starter *Starter, project, id string) (record doc.Job, err error) {
	p := jobRef{project, id}
	err = w.Update(ctx, func(u *workspace.Unit) error {
		record, err = p.loadIn(u)
		if err != nil || record.CancellationRequested {
			return err
		}
		record.CancellationRequested = true
		return p.put(u, record)
	})
	if err != nil || record.Over() {
		return record, err
	}
	if alive, _ := p.owned(w); !alive {
		if p.mayBeExecuting(w, record) {
			return record, nil // another program runs it, and will find the request
		}
		return current(ctx, w, starter, p)
	}
	// The runner polls for the request. Stopping the session need not wait for that.
	if last := record.Last(); last != nil && last.Status == doc.AttemptRunning {
		if _, err := session.Stop(ctx, w, last.SessionRef); err != nil && !fault.Is(err, fault.NotFound) {
			return record, err
		}
	}
	return record, nil
}

const (
	// lookEvery is the interval at which a runner polls for a request if it cannot watch the file.
	// lookSeldom applies if it can.
	lookEvery  = 100 * time.Millisecond
	lookSeldom = 2 * time.Second
)

// awaitCancel calls canceled once cancellation is requested, and returns then
// or when the context ends.
func (r *runner) awaitCancel(ctx context.Context, canceled func()) {
	folder := watch.Folder{Dir: filepath.Join(r.w.Dir(), filepath.FromSlash(r.dir())), PollUnwatched: lookEvery, PollWatched: lookSeldom}
	if folder.Until(ctx, func() bool {
		record, err := r.load(r.w)
		return err == nil && record.CancellationRequested
	}) {
		canceled()
	}
}
