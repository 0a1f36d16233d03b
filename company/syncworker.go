package company

// The worker that keeps the indexes of this process's workspaces up to date.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"ac/index/worker"
	"ac/internal/clock"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// newWorker creates the index worker of a long-lived process.
func (cs *Host) newWorker() *worker.Worker {
	return worker.New(worker.Options{
		Clock: cs.env.Clock,
		Sync: func(ctx context.Context, dir string) error {
			w, err := cs.In(dir).workspace(ctx)
			if isNotAWorkspace(err) {
				return nil // the workspace and its index no longer exist
			}
			if err != nil {
				return err
			}
			if _, err = cs.indexOf(w).Sync(ctx); err != nil {
				return err
			}
			return cs.searchBehind(ctx, dir, w)
		},
		Failed: func(dir string, err error) {
			if !errors.Is(err, context.Canceled) { // canceled: the process is shutting down
				fmt.Fprintf(cs.stderr, "[index-sync-worker] %s: %s\n", dir, err)
			}
		},
	})
}

const (
	// searchSlice is how long the worker updates a search index at a time. The next update
	// continues where it stopped.
	searchSlice = 500 * time.Millisecond
	// searchEvery is the minimum time between two updates. Each checks all documents of the
	// workspace.
	searchEvery = 10 * time.Second
)

// searchBehind updates the search index of a workspace after its main index. It never creates a
// search index: the first search does.
func (cs *Host) searchBehind(ctx context.Context, dir string, w *workspace.Workspace) error {
	now, o := cs.env.Clock.Now().UnixMilli(), cs.entryOf(w)
	if o == nil || now-o.searched.Load() < searchEvery.Milliseconds() || !w.Exists(workspace.SearchFile) {
		return nil
	}
	o.searched.Store(now)
	c, err := cs.In(dir).Enter(ctx)
	if err == nil {
		_, err = c.refreshSearch(ctx, searchSlice)
	}
	return err
}

// notify queues a workspace for the worker after a change.
func (cs *Host) notify(dir string) {
	if cs.worker != nil {
		cs.worker.Notify(dir)
	}
}

// CloseWorker flushes the worker until ctx ends, and stops it.
func (cs *Host) CloseWorker(ctx context.Context) error {
	if cs.worker == nil {
		return nil
	}
	return cs.worker.Close(ctx)
}

// WorkerStatus returns the status of the worker that keeps the indexes up to date.
func (cs *Host) WorkerStatus() worker.Status {
	if cs.worker == nil {
		return worker.NoWorker()
	}
	return cs.worker.Status()
}

// SyncWorkerStatus returns the status of the worker.
func (cs *Host) SyncWorkerStatus(context.Context, NoParams) (worker.Status, error) {
	return cs.WorkerStatus(), nil
}

// FlushSyncWorker brings the indexes up to date with all noticed changes. It also syncs
// workspaces whose sessions may have made changes that nobody noticed.
func (cs *Host) FlushSyncWorker(ctx context.Context, _ NoParams) (worker.Status, error) {
	if cs.worker == nil {
		return worker.NoWorker(), nil
	}
	cs.mu.Lock()
	seen := maps.Clone(cs.open)
	cs.mu.Unlock()
	for dir, o := range seen {
		if records, err := session.All(o.ws); err == nil && recentlyAlive(records, cs.env.Clock) {
			cs.notify(dir)
		}
	}
	if err := cs.worker.Flush(ctx); err != nil {
		return worker.Status{}, err
	}
	return cs.WorkerStatus(), nil
}

// maxNoticeDelay bounds how late the operating system reports a change.
const maxNoticeDelay = 5 * time.Second

// recentlyAlive reports whether a session is live, or ended only a moment ago.
func recentlyAlive(records []doc.Session, c *clock.Clock) bool {
	since := c.Now().Add(-maxNoticeDelay).UnixMilli()
	for _, r := range records {
		if !doc.Terminal(r.Status) || (r.EndedAtMS != nil && *r.EndedAtMS > since) {
			return true
		}
	}
	return false
}
