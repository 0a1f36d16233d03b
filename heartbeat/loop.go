package heartbeat

// The heartbeat loop of one workspace in one process. It runs each tick when due and records the
// results.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"ac/index"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/lock"
	"ac/workspace"
	"ac/workspace/doc"
)

// lookEvery is the shortest interval at which Observe checks the files.
const lookEvery = time.Second

// Options are the options of a loop.
type Options struct {
	Clock *clock.Clock
	// Dir is the workspace directory that summaries of scheduled ticks report.
	Dir string
	// Open opens the current workspace with its index.
	Open func(ctx context.Context) (*workspace.Workspace, *index.Index, error)
	Jobs Jobs
}

// Loop is the heartbeat of a workspace in this process. Between ticks it is
// idle except for one timer. It is safe for concurrent use; Close ends it.
type Loop struct {
	opts   Options
	ctx    context.Context //nolint:containedctx // of its ticks
	cancel context.CancelFunc
	wg     sync.WaitGroup // armed timers and the ticks they start

	mu      sync.Mutex
	plan    schedule
	looked  time.Time
	files   [2]fs.FileInfo // of config and state when last read; nil if missing
	broken  bool           // the config is invalid
	timer   clock.Timer    // nil if not armed
	armed   time.Time      // when the timer fires
	ticking bool
	closed  bool
	failure error    // of the last tick
	last    *Summary // of the last tick

	seen stateCache // cache of the state
}

// NewLoop makes an idle loop: it schedules nothing before the first Observe.
func NewLoop(opts Options) *Loop {
	l := &Loop{opts: opts}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Close stops the loop and waits for its running tick. The next tick, in any process, continues
// unfinished work.
func (l *Loop) Close() {
	l.mu.Lock()
	l.closed = true
	l.disarm()
	l.mu.Unlock()
	l.cancel()
	l.wg.Wait()
}

// Observe schedules the next tick from the files. It checks them at most once a second, and reads
// them only if they changed.
func (l *Loop) Observe(w *workspace.Workspace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opts.Clock.Now()
	if since := now.Sub(l.looked); !l.looked.IsZero() && since >= 0 && since < lookEvery {
		return
	}
	first := l.looked.IsZero()
	l.looked = now
	found := [2]fs.FileInfo{stat(w, workspace.HeartbeatConfigFile), stat(w, workspace.HeartbeatStateFile)}
	if first || !sameFile(found[0], l.files[0]) || !sameFile(found[1], l.files[1]) {
		_, _, _ = l.look(w, found) // Status reads them again and reports problems
	}
}

func stat(w *workspace.Workspace, name string) fs.FileInfo {
	st, err := w.FS.Stat(name)
	if err != nil {
		return nil
	}
	return st
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return durable.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// look reads the files and updates the schedule. The caller holds l.mu.
func (l *Loop) look(w *workspace.Workspace, found [2]fs.FileInfo) (config doc.HeartbeatConfig, state doc.HeartbeatState, problem error) {
	l.files = found
	config, configProblem := Config(w)
	state, stateProblem := l.seen.read(w)
	l.broken = configProblem != nil
	l.plan.look(l.opts.Clock.Now(), config.Enabled, interval(config), state.NextTickAt)
	l.arm()
	return config, state, errors.Join(configProblem, stateProblem)
}

// Refresh re-reads the files and updates the schedule.
func (l *Loop) Refresh(w *workspace.Workspace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _, _ = l.refresh(w) // as in Observe
}

func (l *Loop) refresh(w *workspace.Workspace) (config doc.HeartbeatConfig, state doc.HeartbeatState, problem error) {
	l.looked = l.opts.Clock.Now()
	return l.look(w, [2]fs.FileInfo{stat(w, workspace.HeartbeatConfigFile), stat(w, workspace.HeartbeatStateFile)})
}

// disarm stops the timer. The caller holds l.mu.
func (l *Loop) disarm() {
	if l.timer != nil && l.timer.Stop() {
		l.wg.Done()
	}
	l.timer = nil
}

// arm sets the timer to the scheduled time, unless it is already set. It leaves the timer off
// during a tick, which arms it at its end. The caller holds l.mu.
func (l *Loop) arm() {
	if l.timer != nil && l.armed.Equal(l.plan.due) && !l.plan.due.IsZero() {
		return
	}
	l.disarm()
	if l.closed || l.ticking || l.plan.due.IsZero() {
		return
	}
	l.armed = l.plan.due
	l.wg.Add(1)
	var mine clock.Timer
	mine = l.opts.Clock.AfterFunc(max(0, l.plan.due.Sub(l.opts.Clock.Now())), func() {
		defer l.wg.Done()
		l.mu.Lock()
		due := l.timer == mine
		if due {
			l.timer = nil
			l.plan.fired(l.opts.Clock.Now())
		}
		l.mu.Unlock()
		if due {
			// Status reports the result.
			_, _ = l.guarded(l.ctx, Order{WorkspaceDir: l.opts.Dir, Reason: reasonInterval}, true)
			l.mu.Lock()
			l.arm() // retries a tick that could not begin
			l.mu.Unlock()
		}
	})
	l.timer = mine
}

// Tick runs a requested tick and returns when it has ended. It skips the tick if another is running
// in any process.
func (l *Loop) Tick(ctx context.Context, o Order) (Summary, error) { return l.guarded(ctx, o, false) }

// guarded runs a tick and turns a panic into its failure.
func (l *Loop) guarded(ctx context.Context, o Order, ours bool) (summary Summary, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the tick panicked: %v", r)
			l.mu.Lock()
			l.ticking, l.failure = false, err
			l.arm()
			l.mu.Unlock()
		}
	}()
	return l.tick(ctx, o, ours)
}

func (l *Loop) tick(ctx context.Context, o Order, ours bool) (Summary, error) {
	w, ix, err := l.opts.Open(ctx)
	if err != nil {
		return Summary{}, l.failed(err)
	}
	held, err := lock.Try(w.FS, workspace.HeartbeatLock)
	if errors.Is(err, lock.ErrBusy) {
		l.Refresh(w)
		config, _ := Config(w) // Status reports its problem
		s := newSummary(w, o, config)
		s.SkippedDueToRunning, s.SkippedReason = true, skippedRunning
		return s.finished(w.Env.Clock), nil
	}
	if err != nil {
		return Summary{}, l.failed(err)
	}
	defer func() { _ = held.Release() }() // best effort: closing the descriptor also releases the lock
	config, _ := Config(w)                // Status reports its problem
	if ours && !l.stillDue(w, config) {
		l.Refresh(w)
		return Summary{}, nil
	}
	l.mu.Lock()
	l.ticking, l.failure = true, nil
	l.disarm()
	l.mu.Unlock()
	t := &tick{Summary: newSummary(w, o, config), w: w, ix: ix, jobs: l.opts.Jobs, seen: &l.seen}
	t.interval = ours
	err = t.run(ctx)
	summary := t.finished(w.Env.Clock)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ticking, l.failure = false, errors.Join(err, t.problem)
	if err == nil {
		l.last = &summary
	}
	_, _, _ = l.refresh(w) // as in Observe
	return summary, err
}

// failed records why a tick could not begin.
func (l *Loop) failed(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
	return err
}

// stillDue reports whether the tick is still due: another process may have ticked meanwhile. The
// caller holds the heartbeat lock.
func (l *Loop) stillDue(w *workspace.Workspace, config doc.HeartbeatConfig) bool {
	state, _ := l.seen.read(w) // a damaged state reads as empty: the tick is due
	next, ok := clock.Parse(state.NextTickAt)
	return config.Enabled && (!ok || !next.After(w.Env.Clock.Now()))
}

// Status is the status of a workspace's heartbeat.
type Status struct {
	WorkspaceDir string              `json:"workspace_dir"`
	Observed     bool                `json:"observed"`
	Config       doc.HeartbeatConfig `json:"config"`
	State        doc.HeartbeatState  `json:"state"`
	Runtime      Runtime             `json:"runtime"`
}

// Runtime is this process's part of the status.
type Runtime struct {
	LoopRunning     bool     `json:"loop_running"`
	TickInProgress  bool     `json:"tick_in_progress"`
	NextScheduledAt string   `json:"next_scheduled_at,omitempty"`
	LastError       string   `json:"last_error,omitempty"`
	LastTickSummary *Summary `json:"last_tick_summary,omitempty"`
}

// Status re-reads the files and returns the status. The result reports given as its workspace
// directory.
func (l *Loop) Status(w *workspace.Workspace, given string) Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	config, state, problem := l.refresh(w)
	state.Running, _ = TickRunning(w) // an unreadable lock counts as free
	s := Status{WorkspaceDir: given, Observed: true, Config: config, State: state, Runtime: Runtime{
		LoopRunning: !l.broken, TickInProgress: l.ticking || state.Running, LastTickSummary: l.last,
	}}
	if !l.plan.due.IsZero() {
		s.Runtime.NextScheduledAt = clock.Stamp(l.plan.due)
	}
	if err := errors.Join(problem, l.failure); err != nil {
		s.Runtime.LastError = err.Error()
	}
	return s
}
