package company

// The snapshots that clients poll. Each is one read transaction.

import (
	"context"

	"ac/index"
	"ac/snapshot"
)

// IndexStep selects how the index is prepared for a snapshot.
type IndexStep struct {
	RefreshIndex bool `json:"refresh_index" is:"default=false"`
	SyncIndex    bool `json:"sync_index" is:"default=true"`
}

// Freshness returns how fresh the index must be.
func (s IndexStep) Freshness() index.Freshness { return index.FreshnessOf(s.RefreshIndex, s.SyncIndex) }

// MonitorParams are the params of monitor.snapshot and usage.analytics.
type MonitorParams struct {
	Dir
	IndexStep
	ProjectID string `json:"project_id" is:"optional,id"`
	Limit     int    `json:"limit" is:"default=200,min=1,cut=5000"`
}

// Monitor returns the runs with their sessions and latest events.
func (c *Company) Monitor(ctx context.Context, p MonitorParams) (result snapshot.Monitor, err error) {
	err = c.View(ctx, p.Freshness(), func(m *snapshot.View) (err error) {
		result, err = m.Monitor(p.ProjectID, p.Limit)
		return err
	})
	return result, err
}

// Usage returns the usage of runs.
func (c *Company) Usage(ctx context.Context, p MonitorParams) (result snapshot.Usage, err error) {
	err = c.View(ctx, p.Freshness(), func(m *snapshot.View) (err error) {
		result, err = m.Usage(p.ProjectID, p.Limit)
		return err
	})
	return result, err
}

// ItemLimits limit the pending and decided items.
type ItemLimits struct {
	PendingLimit   int `json:"pending_limit" is:"default=200,min=1,cut=5000"`
	DecisionsLimit int `json:"decisions_limit" is:"default=200,min=1,cut=5000"`
}

// InboxParams are the params of inbox.snapshot.
type InboxParams struct {
	Dir
	IndexStep
	ItemLimits
	ProjectID string `json:"project_id" is:"optional,id"`
}

// InboxResult is the result of inbox.snapshot.
type InboxResult struct {
	snapshot.Inbox
	snapshot.PendingInteractions
}

// Inbox returns the pending items, the decisions, and the requests of agents.
func (c *Company) Inbox(ctx context.Context, p InboxParams) (result InboxResult, err error) {
	err = c.View(ctx, p.Freshness(), func(m *snapshot.View) (err error) {
		if result.Inbox, err = m.Inbox(p.ProjectID, p.PendingLimit, p.DecisionsLimit); err == nil {
			result.PendingInteractions, err = m.PendingInteractions(p.ProjectID)
		}
		return err
	})
	return result, err
}

// ResourcesParams are the params of resources.snapshot.
type ResourcesParams struct {
	Dir
	ProjectID string `json:"project_id" is:"optional,id"`
}

// Resources returns the workforce, its work and its cost.
func (c *Company) Resources(ctx context.Context, p ResourcesParams) (result snapshot.Resources, err error) {
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		result, err = m.Resources(p.ProjectID)
		return err
	})
	return result, err
}

// ProfileParams are the params of agent.profile.snapshot.
type ProfileParams struct {
	Dir
	AgentID   string `json:"agent_id" is:"id"`
	ProjectID string `json:"project_id" is:"optional,id"`
}

// Profile returns one agent with its figures.
func (c *Company) Profile(ctx context.Context, p ProfileParams) (result snapshot.Profile, err error) {
	agent, err := c.w.Agent(p.AgentID)
	if err != nil {
		return result, err
	}
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		result, err = m.Profile(agent, p.ProjectID)
		return err
	})
	return result, err
}

// ScreenLimits limit the tables of a manager's screen.
type ScreenLimits struct {
	MonitorLimit int `json:"monitor_limit" is:"default=200,min=1,cut=5000"`
	ItemLimits
}

// UIParams are the params of ui.snapshot.
type UIParams struct {
	Dir
	IndexStep
	ScreenLimits
	ProjectID string `json:"project_id" is:"optional,id"`
}

// UI returns a manager's screen, as one snapshot.
func (c *Company) UI(ctx context.Context, p UIParams) (snapshot.UI, error) {
	w := c.w
	return snapshot.TakeUI(ctx, w, c.host.indexOf(w), snapshot.UIRequest{
		Request: c.SnapshotRequest(p.Freshness()), Project: p.ProjectID,
		Runs: p.MonitorLimit, Pending: p.PendingLimit, Decisions: p.DecisionsLimit, SyncWorker: c.host.WorkerStatus(),
	})
}

// SnapshotRequest returns a request for a snapshot of the workspace, with its path as the caller
// spelled it.
func (c *Company) SnapshotRequest(asked index.Freshness) snapshot.Request {
	return snapshot.Request{Given: c.given, Index: asked}
}

// View calls take with a snapshot of the workspace; see snapshot.At.
func (c *Company) View(ctx context.Context, asked index.Freshness, take func(*snapshot.View) error) error {
	return snapshot.At(ctx, c.w, c.Index(), c.SnapshotRequest(asked), take)
}
