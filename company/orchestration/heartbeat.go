package orchestration

// heartbeat.*: the heartbeat, and its loops in this process.

import (
	"context"

	"ac/company"
	"ac/heartbeat"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/workspace"
	"ac/workspace/doc"
)

// heartbeatLoop returns the workspace and its heartbeat loop.
func (c Operations) heartbeatLoop(_ context.Context) (*workspace.Workspace, *heartbeat.Loop, error) {
	l := c.Host().Loop(c.Path())
	if l == nil {
		return nil, nil, fault.New(fault.ShuttingDown, "the process is shutting down")
	}
	return c.Workspace(), l, nil
}

// HeartbeatStatus returns the status of the heartbeat. It also observes the
// workspace.
func (c Operations) HeartbeatStatus(ctx context.Context, p company.Dir) (heartbeat.Status, error) {
	w, l, err := c.heartbeatLoop(ctx)
	if err != nil {
		return heartbeat.Status{}, err
	}
	return l.Status(w, p.WorkspaceDir), nil
}

// TickParams are the params of heartbeat.tick.
type TickParams struct {
	company.Dir
	DryRun bool   `json:"dry_run" is:"default=false"`
	Reason string `json:"reason,omitempty" is:"optional"`
}

// Tick runs a tick and returns when it has ended.
func (c Operations) Tick(ctx context.Context, p TickParams) (heartbeat.Summary, error) {
	_, l, err := c.heartbeatLoop(ctx)
	if err != nil {
		return heartbeat.Summary{}, err
	}
	return l.Tick(ctx, heartbeat.Order{WorkspaceDir: p.WorkspaceDir, DryRun: p.DryRun, Reason: p.Reason})
}

// HeartbeatConfig returns the effective config.
func (c Operations) HeartbeatConfig(ctx context.Context, _ company.Dir) (doc.HeartbeatConfig, error) {
	w, l, err := c.heartbeatLoop(ctx)
	if err != nil {
		return doc.HeartbeatConfig{}, err
	}
	l.Refresh(w)
	config, _ := heartbeat.Config(w) // heartbeat.status reports its problems
	return config, nil
}

// SetHeartbeatConfigParams are the params of heartbeat.config.set. Absent params keep their
// values.
type SetHeartbeatConfigParams struct {
	_ struct{} `is:"strict"`
	company.Dir
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

// CheckFields rejects an invalid id of the executive manager. "" unsets it.
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
func (c Operations) SetHeartbeatConfig(ctx context.Context, p SetHeartbeatConfigParams) (doc.HeartbeatConfig, error) {
	w, l, err := c.heartbeatLoop(ctx)
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
