package company

// heartbeat.*: the heartbeat, and its loops in this process.

import (
	"context"
	"sync/atomic"
	"time"

	"ac/heartbeat"
	"ac/index"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/workspace"
	"ac/workspace/doc"
)

// jobs submits jobs to workers.
func (cs *Host) jobs() heartbeat.Launcher {
	return heartbeat.Launcher{Starter: cs.runners, Launched: func(w *workspace.Workspace, project, id string) { cs.remember(w.Dir(), project, id) }}
}

// loop is the heartbeat of a workspace in this process, nil during shutdown.
func (cs *Host) loop(dir string) *heartbeat.Loop {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.loops == nil {
		return nil
	}
	l := cs.loops[dir]
	if l == nil {
		l = heartbeat.NewLoop(heartbeat.Options{
			Clock: cs.env.Clock, Dir: dir, Jobs: cs.jobs(),
			Open: func(ctx context.Context) (*workspace.Workspace, *index.Index, error) {
				w, err := cs.In(dir).workspace(ctx)
				if err != nil {
					return nil, nil, err
				}
				return w, cs.indexOf(w), nil
			},
		})
		cs.loops[dir] = l
	}
	return l
}

// closeLoops ends all heartbeats for good.
func (cs *Host) closeLoops() {
	cs.mu.Lock()
	loops := cs.loops
	cs.loops = nil
	cs.mu.Unlock()
	for _, l := range loops {
		l.Close()
	}
}

// sighting is when a workspace was last observed under one spelling, in
// milliseconds of the monotonic clock.
type sighting struct{ at atomic.Int64 }

const (
	// observeEvery bounds how often a workspace is checked that is named
	// repeatedly.
	observeEvery = time.Second
	// maxSightings bounds the remembered spellings.
	maxSightings = 4096
)

// Observe records that a request named a directory, or that something happened
// there. In a long-lived process, the heartbeat of a workspace ticks from then
// on. It is cheap: a directory is checked once a second at most.
func (cs *Host) Observe(dir string) {
	if cs.hub == nil || dir == "" {
		return
	}
	now := cs.env.Clock.MonotonicMS()
	cs.mu.Lock()
	seen := cs.sightings[dir]
	cs.mu.Unlock()
	if seen != nil {
		if last := seen.at.Load(); now-last < observeEvery.Milliseconds() || !seen.at.CompareAndSwap(last, now) {
			return
		}
	}
	c := cs.In(dir)
	w, err := c.workspace(cs.ctx)
	if err != nil {
		return // not a workspace: nothing to observe
	}
	if seen == nil {
		cs.noticeWorkspace(dir, now)
	}
	if l := cs.loop(c.dir); l != nil {
		l.Observe(w)
	}
}

func (cs *Host) noticeWorkspace(dir string, now int64) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if len(cs.sightings) >= maxSightings {
		clear(cs.sightings)
	}
	seen := &sighting{}
	seen.at.Store(now)
	cs.sightings[dir] = seen
}

// beat is the workspace and its loop.
func (c *Company) beat(_ context.Context) (*workspace.Workspace, *heartbeat.Loop, error) {
	l := c.all.loop(c.dir)
	if l == nil {
		return nil, nil, fault.New(fault.ShuttingDown, "the process is shutting down")
	}
	return c.w, l, nil
}

// HeartbeatStatus returns the status of the heartbeat. It also observes the
// workspace.
func (c *Company) HeartbeatStatus(ctx context.Context, p Dir) (heartbeat.Status, error) {
	w, l, err := c.beat(ctx)
	if err != nil {
		return heartbeat.Status{}, err
	}
	return l.Status(w, p.WorkspaceDir), nil
}

// TickParams are the params of heartbeat.tick.
type TickParams struct {
	Dir
	DryRun bool   `json:"dry_run" is:"default=false"`
	Reason string `json:"reason,omitempty" is:"optional"`
}

// Tick carries out a tick and returns when it has ended.
func (c *Company) Tick(ctx context.Context, p TickParams) (heartbeat.Summary, error) {
	_, l, err := c.beat(ctx)
	if err != nil {
		return heartbeat.Summary{}, err
	}
	return l.Tick(ctx, heartbeat.Order{WorkspaceDir: p.WorkspaceDir, DryRun: p.DryRun, Reason: p.Reason})
}

// HeartbeatConfig returns the effective config.
func (c *Company) HeartbeatConfig(ctx context.Context, _ Dir) (doc.HeartbeatConfig, error) {
	w, l, err := c.beat(ctx)
	if err != nil {
		return doc.HeartbeatConfig{}, err
	}
	l.Refresh(w)
	config, _ := heartbeat.Config(w) // heartbeat.status reports its problems
	return config, nil
}

// SetHeartbeatConfigParams are the params of heartbeat.config.set; absent ones
// keep their values.
type SetHeartbeatConfigParams struct {
	_ struct{} `is:"strict"`
	Dir
	Enabled                *bool   `json:"enabled,omitempty" is:"optional"`
	TickIntervalMinutes    *int    `json:"tick_interval_minutes,omitempty" is:"optional,min=1,max=1440"`
	TopKWorkers            *int    `json:"top_k_workers,omitempty" is:"optional,min=1,max=100"`
	MinWakeScore           *int    `json:"min_wake_score,omitempty" is:"optional,min=0,max=100"`
	OKSuppressionMinutes   *int    `json:"ok_suppression_minutes,omitempty" is:"optional,min=0,max=1440"`
	DueHorizonMinutes      *int    `json:"due_horizon_minutes,omitempty" is:"optional,min=1,max=1440"`
	MaxAutoActionsPerTick  *int    `json:"max_auto_actions_per_tick,omitempty" is:"optional,min=1,max=10000"`
	MaxAutoActionsPerHour  *int    `json:"max_auto_actions_per_hour,omitempty" is:"optional,min=1,max=100000"`
	HierarchyMode          *string `json:"hierarchy_mode,omitempty" is:"optional,enum=standard|enterprise_v1"`
	ExecutiveManager       *string `json:"executive_manager_agent_id,omitempty" is:"optional,empty"`
	DirectorsSpawn         *bool   `json:"allow_director_to_spawn_workers,omitempty" is:"optional"`
	QuietHoursStartHour    *int    `json:"quiet_hours_start_hour,omitempty" is:"optional,min=0,max=23"`
	QuietHoursEndHour      *int    `json:"quiet_hours_end_hour,omitempty" is:"optional,min=0,max=23"`
	StuckJobRunningMinutes *int    `json:"stuck_job_running_minutes,omitempty" is:"optional,min=1,max=1440"`
	IdempotencyTTLDays     *int    `json:"idempotency_ttl_days,omitempty" is:"optional,min=1,max=365"`
	JitterMaxSeconds       *int    `json:"jitter_max_seconds,omitempty" is:"optional,min=0,max=3600"`
}

// CheckFields refuses an invalid id of the executive manager; "" unsets it.
func (p *SetHeartbeatConfigParams) CheckFields() []fault.Issue {
	if p.ExecutiveManager != nil && *p.ExecutiveManager != "" {
		if why := shape.CheckID(*p.ExecutiveManager); why != "" {
			return []fault.Issue{{Path: []any{"executive_manager_agent_id"}, Code: "custom", Message: why}}
		}
	}
	return nil
}

// change applies the given params to a config.
func (p *SetHeartbeatConfigParams) change(config *doc.HeartbeatConfig) {
	if p.Enabled != nil {
		config.Enabled = *p.Enabled
	}
	for _, f := range []struct{ given, field *int }{
		{p.TickIntervalMinutes, &config.TickIntervalMinutes}, {p.TopKWorkers, &config.TopKWorkers}, {p.MinWakeScore, &config.MinWakeScore},
		{p.OKSuppressionMinutes, &config.OKSuppressionMinutes}, {p.DueHorizonMinutes, &config.DueHorizonMinutes},
		{p.MaxAutoActionsPerTick, &config.MaxAutoActionsPerTick}, {p.MaxAutoActionsPerHour, &config.MaxAutoActionsPerHour},
		{p.QuietHoursStartHour, &config.QuietHoursStartHour}, {p.QuietHoursEndHour, &config.QuietHoursEndHour},
		{p.StuckJobRunningMinutes, &config.StuckJobRunningMinutes}, {p.IdempotencyTTLDays, &config.IdempotencyTTLDays},
		{p.JitterMaxSeconds, &config.JitterMaxSeconds},
	} {
		if f.given != nil {
			*f.field = *f.given
		}
	}
	if p.HierarchyMode != nil {
		config.HierarchyMode = *p.HierarchyMode
	}
	if p.ExecutiveManager != nil {
		config.ExecutiveManagerAgentID = *p.ExecutiveManager
	}
	if p.DirectorsSpawn != nil {
		config.AllowDirectorToSpawnWorkers = p.DirectorsSpawn
	}
}

// SetHeartbeatConfig changes the config and reschedules the heartbeat. The
// change is durable on return.
func (c *Company) SetHeartbeatConfig(ctx context.Context, p SetHeartbeatConfigParams) (doc.HeartbeatConfig, error) {
	w, l, err := c.beat(ctx)
	if err != nil {
		return doc.HeartbeatConfig{}, err
	}
	if id := p.ExecutiveManager; id != nil && *id != "" {
		if _, err := w.Agent(*id); err != nil {
			return doc.HeartbeatConfig{}, err
		}
	}
	config, err := heartbeat.SetConfig(ctx, w, p.change)
	if err == nil {
		l.Refresh(w)
	}
	return config, err
}
