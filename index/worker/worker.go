// Package worker keeps derived data of workspaces up to date in the background. It collects
// change notifications and processes them in batches, debounced and rate-limited. The caller
// supplies the processing; this package only schedules it.
//
// Invariants:
//   - Notifications that arrive together become one batch; a steady stream of
//     them never delays a batch.
//   - Batches never overlap. A batch begins no sooner than Interval after the
//     end of the one before, unless it is flushed.
//   - An idle worker has no goroutine and no timer.
package worker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ac/internal/clock"
)

// The timing of batches.
const (
	// Debounce is the delay of a batch after its first notification.
	Debounce = 250 * time.Millisecond
	// Interval is the least time between two batches.
	Interval = time.Second
)

// Status is the status of a worker. Times are Unix milliseconds, null for what never happened.
type Status struct {
	Enabled           bool    `json:"enabled"`
	Running           bool    `json:"running"`
	Closed            bool    `json:"closed"`
	PendingWorkspaces int     `json:"pending_workspaces"`
	DebounceMS        int64   `json:"debounce_ms"`
	MinIntervalMS     int64   `json:"min_interval_ms"`
	LastRunAt         *int64  `json:"last_run_at_ms"`
	LastNotifyAt      *int64  `json:"last_notify_at_ms"`
	LastNotified      *string `json:"last_notified_workspace"`
	BatchStartedAt    *int64  `json:"last_batch_started_at_ms"`
	BatchCompletedAt  *int64  `json:"last_batch_completed_at_ms"`
	NotifyCalls       int64   `json:"total_notify_calls"`
	Batches           int64   `json:"total_batches"`
	SyncAttempts      int64   `json:"total_workspace_sync_attempts"`
	SyncErrors        int64   `json:"total_workspace_sync_errors"`
	LastError         *string `json:"last_error_message"`
	LastErrorIn       *string `json:"last_error_workspace"`
	LastErrorAt       *int64  `json:"last_error_at_ms"`
}

// NoWorker returns the status of a process without a worker.
func NoWorker() Status { return Status{Closed: true} }

// Options are the options of a worker.
type Options struct {
	Clock *clock.Clock
	// Sync brings one workspace up to date.
	Sync func(ctx context.Context, dir string) error
	// Failed is called with each workspace that could not be brought up to
	// date. It must not block.
	Failed func(dir string, err error)
}

// Worker is the worker of a process. It is safe for concurrent use.
type Worker struct {
	opts   Options
	ctx    context.Context //nolint:containedctx // of all batches
	cancel context.CancelFunc
	wg     sync.WaitGroup // armed timers, and the batches that they begin

	mu      sync.Mutex
	status  Status
	pending []string
	timer   *time.Timer   // nil if not armed
	batch   chan struct{} // closed at the end of the running batch; nil if there is none
	ended   time.Time     // when the last batch ended
	closing bool
}

// New returns a worker. The caller must Close it.
func New(opts Options) *Worker {
	w := &Worker{opts: opts, status: Status{Enabled: true, DebounceMS: Debounce.Milliseconds(), MinIntervalMS: Interval.Milliseconds()}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// Notify reports that a workspace changed. It never blocks. After Close it is a
// no-op.
func (w *Worker) Notify(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing {
		return
	}
	w.status.NotifyCalls++
	w.status.LastNotifyAt, w.status.LastNotified = w.now(), &dir
	if slices.Contains(w.pending, dir) {
		return
	}
	w.pending = append(w.pending, dir)
	w.arm()
}

// arm sets the timer for pending workspaces. It does nothing if the timer is set, or if a batch
// is running, which arms the timer at its end. The caller holds w.mu.
func (w *Worker) arm() {
	if w.timer != nil || w.batch != nil || len(w.pending) == 0 || w.closing {
		return
	}
	wait := Debounce
	if !w.ended.IsZero() {
		wait = max(wait, Interval-w.opts.Clock.Since(w.ended))
	}
	w.wg.Add(1)
	w.timer = time.AfterFunc(wait, func() {
		defer w.wg.Done()
		w.mu.Lock()
		w.timer = nil
		work := w.begin()
		w.mu.Unlock()
		work()
	})
}

// begin takes the pending workspaces for a batch. The caller holds w.mu, and runs work after
// unlocking it. If nothing is pending, or a batch is running, work is a no-op.
func (w *Worker) begin() (work func()) {
	if w.batch != nil || len(w.pending) == 0 {
		return func() {}
	}
	if w.timer != nil && w.timer.Stop() {
		w.timer = nil
		w.wg.Done()
	}
	dirs, done := w.pending, make(chan struct{})
	w.pending, w.batch = nil, done
	w.status.Batches++
	w.status.BatchStartedAt = w.now()
	return func() {
		for _, dir := range dirs {
			w.sync(dir)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ended = w.opts.Clock.Now()
		w.status.BatchCompletedAt = w.now()
		w.status.LastRunAt = w.status.BatchCompletedAt
		w.batch = nil
		close(done)
		w.arm()
	}
}

func (w *Worker) sync(dir string) {
	err := w.syncRecovered(dir)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.SyncAttempts++
	if err == nil {
		return
	}
	message := err.Error()
	w.status.SyncErrors++
	w.status.LastError, w.status.LastErrorIn, w.status.LastErrorAt = &message, &dir, w.now()
	w.opts.Failed(dir, err)
}

// syncRecovered turns a panic into an error of this workspace.
func (w *Worker) syncRecovered(dir string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return w.opts.Sync(w.ctx, dir)
}

// Flush processes the currently pending workspaces at once, waits for a running batch, and
// returns when both are done. Later notifications wait for the next batch. Flush stops waiting
// when ctx ends.
func (w *Worker) Flush(ctx context.Context) error {
	w.mu.Lock()
	last := w.status.Batches // the batch that takes what is pending now, or the one that is running
	if len(w.pending) > 0 {
		last++
	}
	w.mu.Unlock()
	for {
		w.mu.Lock()
		if w.batch == nil && w.status.Batches < last {
			w.wg.Go(w.begin())
		}
		under := w.batch
		if w.status.Batches > last {
			under = nil // it has ended; another one is running
		}
		w.mu.Unlock()
		if under == nil {
			return nil
		}
		select {
		case <-under:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close flushes and ends the worker. If ctx ends first, it cancels the running batch. When
// Close returns, no goroutine of the worker is left.
func (w *Worker) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closing = true
	if w.timer != nil && w.timer.Stop() {
		w.timer = nil
		w.wg.Done()
	}
	w.mu.Unlock()
	stop := context.AfterFunc(ctx, w.cancel)
	err := w.Flush(ctx)
	stop()
	w.cancel()
	w.wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Closed = true
	return err
}

// Status returns the current status of the worker.
func (w *Worker) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.status
	now.Running, now.PendingWorkspaces = w.batch != nil, len(w.pending)
	return now
}

func (w *Worker) now() *int64 { return new(w.opts.Clock.Now().UnixMilli()) }
