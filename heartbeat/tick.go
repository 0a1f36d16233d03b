package heartbeat

// A tick: triage, waking workers, waiting for them, and carrying out their reports.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ac/heartbeat/job"
	"ac/index"
	"ac/internal/clock"
	"ac/internal/inflight"
	"ac/workspace"
	"ac/workspace/doc"
)

// Reasons of ticks.
const (
	reasonRPC      = "rpc"
	reasonManual   = "manual"
	reasonInterval = "interval"
)

// Reasons why a tick is skipped.
const (
	skippedRunning  = "tick_already_in_progress"
	skippedDisabled = "heartbeat_disabled"
)

// Order is a requested tick.
type Order struct {
	WorkspaceDir string // as the caller spelled it
	DryRun       bool
	Reason       string // "" if none
}

// WakeDecision is a worker chosen to be woken.
type WakeDecision struct {
	WorkerAgentID string `json:"worker_agent_id"`
	TeamID        string `json:"team_id,omitempty"`
	Score         int    `json:"score"`
	JitterSeconds int    `json:"jitter_seconds"`
	ContextHash   string `json:"context_hash"`
	// ProjectID is the project in which it is woken; set only in an enterprise.
	ProjectID string `json:"project_id,omitempty"`
}

// SubmittedJob is the job of a woken worker.
type SubmittedJob struct {
	WorkerAgentID string `json:"worker_agent_id"`
	ProjectID     string `json:"project_id"`
	JobID         string `json:"job_id"`
	JitterSeconds int    `json:"jitter_seconds"`
}

// Summary is the result of a tick.
type Summary struct {
	TickID              string              `json:"tick_id"`
	WorkspaceDir        string              `json:"workspace_dir"`
	Reason              string              `json:"reason"`
	StartedAt           string              `json:"started_at"`
	FinishedAt          string              `json:"finished_at"`
	DurationMS          int64               `json:"duration_ms"`
	DryRun              bool                `json:"dry_run"`
	Enabled             bool                `json:"enabled"`
	SkippedDueToRunning bool                `json:"skipped_due_to_running"`
	SkippedReason       string              `json:"skipped_reason,omitempty"`
	Config              doc.HeartbeatConfig `json:"config"`
	Candidates          []Candidate         `json:"candidates"`
	WokenWorkers        []WakeDecision      `json:"woken_workers"`
	JobsSubmitted       []SubmittedJob      `json:"jobs_submitted"`
	ReportsProcessed    int                 `json:"reports_processed"`
	ReportsOK           int                 `json:"reports_ok"`
	ReportsActions      int                 `json:"reports_actions"`
	ActionsExecuted     int                 `json:"actions_executed"`
	ApprovalsQueued     int                 `json:"approvals_queued"`
	DedupedActions      int                 `json:"deduped_actions"`
	SkippedActions      int                 `json:"skipped_actions"`
	problem             error               // faults that did not fail the tick
	interval            bool                // scheduled by the loop
	began               time.Time
}

// newSummary returns the summary of a tick that begins now.
func newSummary(w *workspace.Workspace, o Order, config doc.HeartbeatConfig) *Summary {
	now := w.Env.Clock.Now()
	reason := reasonRPC
	if o.Reason != "" {
		reason = cmp.Or(strings.TrimSpace(o.Reason), reasonManual)
	}
	return &Summary{
		TickID: fmt.Sprintf("hbtick_%d_%s", now.UnixMilli(), w.Env.IDs.Hex(4)), WorkspaceDir: o.WorkspaceDir, Reason: reason,
		StartedAt: clock.Stamp(now), DryRun: o.DryRun, Enabled: config.Enabled, Config: config,
		Candidates: []Candidate{}, WokenWorkers: []WakeDecision{}, JobsSubmitted: []SubmittedJob{}, began: now,
	}
}

// finished sets the end time and returns a copy.
func (s *Summary) finished(c *clock.Clock) Summary {
	now := c.Now()
	s.FinishedAt, s.DurationMS = clock.Stamp(now), max(0, c.Since(s.began).Milliseconds())
	return *s
}

// tick is a running tick. It holds the tick lock throughout.
type tick struct {
	*Summary

	w    *workspace.Workspace
	ix   *index.Index
	jobs Jobs
	seen *stateCache // cache of the state
}

// notice records a fault that does not fail the tick.
func (t *tick) notice(err error) { t.problem = errors.Join(t.problem, err) }

// run carries out a tick. An error means that the whole tick failed.
func (t *tick) run(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	if !t.Config.Enabled {
		t.SkippedReason = skippedDisabled
		return t.finish(ctx, nil)
	}
	// The state now records the begin, so later requests need not wait for this tick.
	waiting, done, err := inflight.Wait(ctx)
	if err == nil {
		err = t.carryOn(waiting)
		done()
	}
	if err != nil {
		return errors.Join(err, t.abandon(ctx))
	}
	return nil
}

// carryOn does everything after the tick has recorded its begin.
func (t *tick) carryOn(ctx context.Context) error {
	consume, err := t.work(ctx)
	if err != nil {
		return err
	}
	return t.finish(ctx, consume)
}

// work does everything between the begin and the end of a tick. consume marks in the state the news
// that the triage used.
func (t *tick) work(ctx context.Context) (consume func(*doc.HeartbeatState), err error) {
	if !t.DryRun {
		if err := t.catchUp(ctx); err != nil {
			return nil, err
		}
	}
	state, problem := t.seen.read(t.w)
	t.notice(problem)
	m, problem, err := gather(ctx, t.w, t.ix, t.Config, state)
	if err != nil {
		return nil, err
	}
	t.notice(problem)
	t.Candidates = Triage(m.TriageInput)
	chosen := Select(t.Config, t.Candidates)
	jitters := t.jitters(len(chosen))
	if t.Config.Enterprise() {
		directorsFirst(chosen)
		slices.Sort(jitters)
	}
	for i, c := range chosen {
		woken := WakeDecision{WorkerAgentID: c.WorkerAgentID, TeamID: c.TeamID, Score: c.Score, JitterSeconds: jitters[i], ContextHash: c.ContextHash}
		if t.Config.Enterprise() {
			woken.ProjectID = m.projectFor(c)
		}
		t.WokenWorkers = append(t.WokenWorkers, woken)
	}
	if t.DryRun {
		return func(*doc.HeartbeatState) {}, nil
	}
	consume = t.consumption(m)
	if err := t.reconcile(ctx, m); err != nil {
		return nil, err
	}
	if project := defaultProject(m.projects); project != "" && len(chosen) > 0 {
		return t.wake(ctx, m, project, chosen, consume)
	}
	return consume, nil
}

// consumption returns the function that marks in the state the news that the triage used.
func (t *tick) consumption(m moment) func(*doc.HeartbeatState) {
	return func(state *doc.HeartbeatState) {
		for key, last := range m.ends {
			state.RunEventCursors[key] = max(last, state.RunEventCursors[key])
		}
		m.forgetRuns(state)
		for _, c := range t.Candidates {
			known := state.WorkerState[c.WorkerAgentID]
			known.LastContextHash = c.ContextHash
			state.WorkerState[c.WorkerAgentID] = known
		}
	}
}

// begin records in the state that a tick is running.
func (t *tick) begin(ctx context.Context) error {
	t.sign()
	return t.w.Update(ctx, func(u *workspace.Unit) error {
		damaged, err := t.seen.change(u, func(state *doc.HeartbeatState) {
			state.Running, state.LastTickID, state.LastTickAt, state.LastTickReason = true, t.TickID, t.StartedAt, t.Reason
		})
		t.notice(damaged)
		return err
	})
}

// sign writes the holder into the lock file for people to read. No program reads it.
func (t *tick) sign() {
	file, err := t.w.FS.OpenFile(workspace.HeartbeatLock, os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(file, "%d %s\n", t.w.Env.PID, t.TickID)
	_ = file.Close()
}

// finish records the end of a tick in the state. consume is nil if the tick was skipped.
func (t *tick) finish(ctx context.Context, consume func(*doc.HeartbeatState)) error {
	return t.end(ctx, func(state *doc.HeartbeatState) {
		if consume != nil {
			consume(state)
			Forget(state, t.w.Env.Clock.Now())
			state.Stats.TicksTotal++
		}
	})
}

// abandon records the end of a failed tick, even if the context has ended.
func (t *tick) abandon(ctx context.Context) error {
	return t.end(context.WithoutCancel(ctx), func(*doc.HeartbeatState) {})
}

func (t *tick) end(ctx context.Context, more func(*doc.HeartbeatState)) error {
	return t.w.Update(ctx, func(u *workspace.Unit) error {
		damaged, err := t.seen.change(u, func(state *doc.HeartbeatState) {
			more(state)
			state.Running, state.NextTickAt = false, clock.Stamp(t.w.Env.Clock.Now().Add(interval(t.Config)))
		})
		t.notice(damaged)
		return err
	})
}

// reconcile polls the jobs that have been running for too long; polling ends or restarts them.
func (t *tick) reconcile(ctx context.Context, m moment) error {
	patience := time.Duration(t.Config.StuckJobRunningMinutes) * time.Minute
	for _, j := range m.Jobs {
		since, ok := clock.Parse(j.CreatedAt)
		if last := j.Last(); last != nil {
			since, ok = clock.Parse(last.StartedAt)
		}
		if !ok || m.Now.Sub(since) < patience {
			continue
		}
		if _, err := t.jobs.Poll(ctx, t.w, j.Job.ProjectID, j.Job.JobID); err != nil {
			t.notice(err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// catchUp evaluates the jobs of earlier ticks that have ended by now.
func (t *tick) catchUp(ctx context.Context) error {
	left, err := pending(t.w)
	if err != nil {
		return err
	}
	for _, p := range left {
		if err := t.evaluate(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// reportOf returns the report of a finished job, nil if it has none.
func reportOf(w *workspace.Workspace, p pendingJob, record doc.Job) (*doc.HeartbeatReport, error) {
	if record.Status != doc.JobCompleted {
		return nil, nil
	}
	left, err := job.Collect(w, p.ProjectID, p.JobID)
	return left.Report, err
}
