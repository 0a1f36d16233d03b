package orchestration

// run:watch: following a run to its end.

import (
	"context"
	"strings"
	"sync"
	"time"

	"ac/company"
	"ac/events"
	"ac/feed"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/runs/transcript"
	"ac/workspace"
	"ac/workspace/doc"
)

// LastRun is the name of the newest run.
const LastRun = "last"

// NamedRunParams identify a run as people do: by its id, or as the newest one.
type NamedRunParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"optional,id"`
	RunID     string `json:"run_id" is:"id"`
}

// NamedRun identifies a run by its ids.
type NamedRun struct {
	ProjectID string
	RunID     string
}

// FindRun finds a run by its id without its project, or the newest one for LastRun. A missing run
// is fault.NotFound, and one found in several projects is fault.Conflict.
func (c Operations) FindRun(_ context.Context, p NamedRunParams) (NamedRun, error) {
	if p.RunID != LastRun {
		project, err := c.ProjectOf(p.ProjectID, p.RunID)
		return NamedRun{project, p.RunID}, err
	}
	rows, err := runs.List(c.Workspace(), p.ProjectID)
	if err != nil {
		return NamedRun{}, err
	}
	if len(rows) == 0 {
		return NamedRun{}, fault.New(fault.NotFound, "there is no run in %s", c.Given())
	}
	return NamedRun{rows[0].ProjectID, rows[0].RunID}, nil
}

// LogEnd returns the number of lines in the log of a run.
func (c Operations) LogEnd(ctx context.Context, p NamedRunParams) (end int64, err error) {
	run, err := c.FindRun(ctx, p)
	if err != nil {
		return 0, err
	}
	err = c.Host().Logs().RunState(ctx, c.Workspace(), run.ProjectID, run.RunID, func(f *transcript.Fold) { end = f.Seq() })
	return end, err
}

// FollowEventsParams select the project whose events to follow.
type FollowEventsParams struct {
	company.Dir
	ProjectID string                                        `json:"project_id" is:"id"`
	Deliver   func(ctx context.Context, e feed.Event) error `json:"-"`
}

// FollowEvents delivers new events of a project until stop is called.
func (c Operations) FollowEvents(ctx context.Context, p FollowEventsParams) (stop func(), err error) {
	return c.Follow(ctx, company.EventStream{ProjectID: p.ProjectID, Deliver: p.Deliver})
}

// WatchRunParams are the params of run:watch.
type WatchRunParams struct {
	NamedRunParams
	Since    *int64 `json:"-"`
	Tail     int    `json:"-"` // of the items so far, 0 for all
	NoFollow bool   `json:"-"` // end after the items so far
	// Settled, if not nil, is called once everything recorded so far has been delivered.
	Settled func() `json:"-"`
	// Deliver receives the transcript as it changes. Its error ends the watch.
	Deliver func(feed.TranscriptNotification) error `json:"-"`
}

// WatchRunResult is the state of the run at the end of the watch.
type WatchRunResult struct{ Status string }

// reconcileEvery is how often a watch checks whether the session of its run still has a
// supervisor.
const reconcileEvery = 2 * time.Second

// WatchRun follows the transcript of a run until the run is over, ctx ends, or Deliver fails. It
// reconciles a session whose supervisor died.
func (c Operations) WatchRun(ctx context.Context, p WatchRunParams) (result WatchRunResult, err error) {
	run, err := c.FindRun(ctx, p.NamedRunParams)
	if err != nil {
		return result, err
	}
	if err := c.reconcile(ctx, run); err != nil {
		return result, err
	}
	w := &watch{over: make(chan struct{}), deliver: p.Deliver, keepFollowing: !p.NoFollow}
	status, over := c.overByRecord(run) // must precede reading the log
	stop, err := c.FollowTranscript(ctx, company.TranscriptStream{
		ProjectID: run.ProjectID, RunID: run.RunID, Since: p.Since, Tail: p.Tail, Deliver: w.take,
		Settled: func() {
			if p.Settled != nil {
				p.Settled()
			}
			w.applyStatus(status, over)
		},
	})
	if err != nil {
		return result, err
	}
	defer stop()
	ticker := time.NewTicker(reconcileEvery)
	defer ticker.Stop()
	for {
		select {
		case <-w.over:
			return WatchRunResult{w.status}, w.failed
		case <-ctx.Done():
			return result, ctx.Err()
		case <-ticker.C:
			if err := c.reconcile(ctx, run); err != nil {
				return result, err
			}
		}
	}
}

// overByRecord returns the status in a run's record, and whether the run is over. The log may
// lack the end if another program wrote it. Call it before reading the log, which then contains
// everything up to that status.
func (c Operations) overByRecord(run NamedRun) (status string, over bool) {
	record, err := runs.Load(c.Workspace(), run.ProjectID, run.RunID)
	return record.Status, err == nil && doc.Terminal(record.Status) && !session.RunAlive(c.Workspace(), run.ProjectID, run.RunID)
}

// reconcile ends the sessions of a run whose supervisor died.
func (c Operations) reconcile(ctx context.Context, run NamedRun) error {
	if session.RunAlive(c.Workspace(), run.ProjectID, run.RunID) {
		return nil
	}
	records, err := session.NamedAfter(c.Workspace(), run.RunID)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.ProjectID == run.ProjectID && r.RunID == run.RunID && !doc.Terminal(r.Status) {
			if _, err := company.ReconcileForList(ctx, c.Workspace(), r); err != nil {
				return err
			}
		}
	}
	return nil
}

// watch is the state of one watch. Deliveries own its fields until over is closed.
type watch struct {
	deliver       func(feed.TranscriptNotification) error
	keepFollowing bool
	once          sync.Once
	over          chan struct{}

	settled bool
	ended   bool
	status  string
	failed  error
}

func (w *watch) take(_ context.Context, n feed.TranscriptNotification) error {
	if w.ended {
		return context.Canceled // WatchRun owns the fields now
	}
	if n.Op == transcript.Status {
		w.status = n.State.Status
	}
	if w.failed = w.deliver(n); w.failed != nil {
		w.end()
		return w.failed
	}
	if w.settled && doc.Terminal(w.status) {
		w.end()
	}
	return nil
}

// applyStatus records that everything so far was delivered. It ends the watch if the run is over,
// by its log or its record, or if the watch does not follow.
func (w *watch) applyStatus(status string, over bool) {
	if w.settled = true; over {
		w.status = status
	}
	if !w.keepFollowing || doc.Terminal(w.status) {
		w.end()
	}
}

func (w *watch) end() {
	w.ended = true
	w.once.Do(func() { close(w.over) })
}

// RawRunParams are the params of run:watch --raw.
type RawRunParams struct {
	NamedRunParams
	Since    int64 `json:"-"`
	NoFollow bool  `json:"-"` // end after the output so far
	// Settled, if not nil, is called once everything recorded so far has been delivered.
	Settled func() `json:"-"`
	// Deliver receives what the agent printed, in order per stream. A chunk is valid until Deliver
	// returns. Its error ends the watch.
	Deliver func(stream string, chunk []byte) error `json:"-"`
	// Pace is how long new output is collected before each read, 0 for not at all.
	Pace time.Duration `json:"-"`
}

// WatchRaw follows the raw output of a run's agent until the run is over, ctx ends, or Deliver
// fails. It reconciles a session whose supervisor died.
func (c Operations) WatchRaw(ctx context.Context, p RawRunParams) (result WatchRunResult, err error) {
	run, err := c.FindRun(ctx, p.NamedRunParams)
	if err != nil {
		return result, err
	}
	grown := make(chan struct{}, 1)
	stop, err := c.Subscribe(ctx, feed.Spec{Project: run.ProjectID, Run: run.RunID, OnGrowth: func(_, _ string) {
		select {
		case grown <- struct{}{}:
		default: // a read is already pending
		}
	}})
	if err != nil {
		return result, err
	}
	defer stop()
	ticker := time.NewTicker(reconcileEvery)
	defer ticker.Stop()
	if err := c.reconcile(ctx, run); err != nil {
		return result, err
	}
	r := rawReader{workspace: c.Workspace(), at: feed.PositionAfter(run.ProjectID, run.RunID, p.Since), deliver: p.Deliver, status: doc.StatusRunning}
	for settled := false; ; settled = true {
		status, over := c.overByRecord(run) // must precede reading the log
		err := r.read(ctx)
		if !settled && err == nil && p.Settled != nil {
			p.Settled()
		}
		if err != nil || p.NoFollow || doc.Terminal(r.status) {
			return WatchRunResult{r.status}, err
		}
		if over {
			return WatchRunResult{status}, nil
		}
		select {
		case <-grown:
		case <-ticker.C:
			err = c.reconcile(ctx, run)
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil && p.Pace > 0 && !company.Pause(ctx, p.Pace) {
			err = ctx.Err()
		}
		if err != nil {
			return result, err
		}
	}
}

// rawReader reads the raw output of an agent.
type rawReader struct {
	workspace *workspace.Workspace
	at        *feed.Position
	deliver   func(stream string, chunk []byte) error
	status    string
	chunk     []byte // buffer for the next chunk
}

// read delivers everything after the cursor.
func (r *rawReader) read(ctx context.Context) error {
	return r.at.Lines(ctx, r.workspace, func(_ int64, line []byte) error {
		kind, stream, chunk, ok := transcript.Output(line, r.chunk)
		switch {
		case ok:
			r.chunk = chunk[:0]
			return r.deliver(stream, chunk)
		case events.Terminal(kind):
			r.status = strings.TrimPrefix(kind, "run.")
		case kind == events.RunContinued || kind == events.RunExecuting:
			r.status = doc.StatusRunning
		}
		return nil
	})
}
