package job

// Canceling, and noticing that somebody did.

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

// Cancel notes that a job is to be canceled and stops what runs of it. The note
// is durable when it returns, on a job that is over, too, which stays as it is
// otherwise. The record is as it is just after: the runner ends the job. A job
// that nobody runs is ended here.
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
		if p.attended(w, record) {
			return record, nil // of another program, which finds the note
		}
		return current(ctx, w, starter, p)
	}
	// Its runner finds the note by itself; the session need not wait for that.
	if last := record.Last(); last != nil && last.Status == doc.AttemptRunning {
		if _, err := session.Stop(ctx, w, last.SessionRef); err != nil && !fault.Is(err, fault.NotFound) {
			return record, err
		}
	}
	return record, nil
}

const (
	// lookEvery is how often a runner looks for a note where it is not told of
	// changes, and lookSeldom where it is.
	lookEvery  = 100 * time.Millisecond
	lookSeldom = 2 * time.Second
)

// awaitCancel calls canceled once the note is there, and returns then or when the
// context ends.
func (r *runner) awaitCancel(ctx context.Context, canceled func()) {
	folder := watch.Folder{Dir: filepath.Join(r.w.Dir(), filepath.FromSlash(r.dir())), Often: lookEvery, Seldom: lookSeldom}
	if folder.Until(ctx, func() bool {
		record, err := r.load(r.w)
		return err == nil && record.CancellationRequested
	}) {
		canceled()
	}
}
