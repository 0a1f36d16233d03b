package dashboard

// The dashboard as JSON, for scripts.

import (
	"ac/index/worker"
	"ac/snapshot"
)

// Summary is the content of the dashboard, without the limits of the screen.
type Summary struct {
	WorkspaceDir string           `json:"workspace_dir"`
	GeneratedAt  string           `json:"generated_at"`
	SyncWorker   SyncWorker       `json:"index_sync_worker"`
	Heartbeat    Heartbeat        `json:"heartbeat"`
	Counts       Counts           `json:"counts"`
	Pending      []PendingSummary `json:"pending"`
	Decisions    []DecisionRow    `json:"recent_decisions"`
	Runs         []RunRow         `json:"runs"`
}

// SyncWorker is a summary of the index worker.
type SyncWorker struct {
	Enabled           bool    `json:"enabled"`
	Running           bool    `json:"running"`
	PendingWorkspaces int     `json:"pending_workspaces"`
	NotifyCalls       int64   `json:"total_notify_calls"`
	SyncErrors        int64   `json:"total_workspace_sync_errors"`
	LastErrorAt       *int64  `json:"last_error_at_ms"`
	LastError         *string `json:"last_error_message"`
}

// Heartbeat is a summary of the heartbeat.
type Heartbeat struct {
	Enabled             bool   `json:"enabled"`
	Running             bool   `json:"running"`
	TickIntervalMinutes int    `json:"tick_interval_minutes"`
	TopKWorkers         int    `json:"top_k_workers"`
	MinWakeScore        int    `json:"min_wake_score"`
	LastTickAt          string `json:"last_tick_at,omitempty"`
	NextTickAt          string `json:"next_tick_at,omitempty"`
	Ticks               int64  `json:"ticks_total"`
	WorkersWoken        int64  `json:"workers_woken_total"`
	ActionsExecuted     int64  `json:"actions_executed_total"`
	ApprovalsQueued     int64  `json:"approvals_queued_total"`
}

// Counts holds the lengths of the lists.
type Counts struct {
	Pending   int `json:"pending"`
	Decisions int `json:"recent_decisions"`
	Runs      int `json:"runs"`
}

// PendingSummary is an artifact that waits for a decision.
type PendingSummary struct {
	ArtifactID   string  `json:"artifact_id"`
	ArtifactType string  `json:"artifact_type"`
	ProjectID    string  `json:"project_id"`
	RunID        *string `json:"run_id"`
	CreatedAt    *string `json:"created_at"`
	ParseErrors  int64   `json:"parse_error_count"`
	Title        *string `json:"title"`
}

// DecisionRow is a past decision.
type DecisionRow struct {
	Decision    string `json:"decision"`
	ArtifactID  string `json:"subject_artifact_id"`
	ProjectID   string `json:"project_id"`
	ActorID     string `json:"actor_id"`
	CreatedAt   string `json:"created_at"`
	ParseErrors int64  `json:"parse_error_count"`
}

// RunRow is a run, or a session without a run.
type RunRow struct {
	RunID         string `json:"run_id"`
	ProjectID     string `json:"project_id"`
	RunStatus     string `json:"run_status"`
	LiveStatus    string `json:"live_status,omitempty"`
	LastEventType string `json:"last_event_type,omitempty"`
	ParseErrors   int64  `json:"parse_error_count"`
	CreatedAt     string `json:"created_at,omitempty"`
}

// Summarize returns the summary of a snapshot.
func Summarize(ui *snapshot.UI) Summary {
	s := Summary{
		WorkspaceDir: ui.WorkspaceDir, GeneratedAt: ui.GeneratedAt, SyncWorker: syncWorker(ui.SyncWorker), Heartbeat: heartbeat(ui.Heartbeat),
		Counts:  Counts{Pending: len(ui.Inbox.Pending), Decisions: len(ui.Inbox.Decisions), Runs: len(ui.Monitor.Rows)},
		Pending: []PendingSummary{}, Decisions: []DecisionRow{}, Runs: []RunRow{},
	}
	for _, i := range ui.Inbox.Pending {
		s.Pending = append(s.Pending, PendingSummary{i.ArtifactID, i.ArtifactType, i.ProjectID, i.RunID, i.CreatedAt, i.ParseErrors, i.Title})
	}
	for _, d := range ui.Inbox.Decisions {
		s.Decisions = append(s.Decisions, DecisionRow{d.Decision, d.SubjectArtifactID, d.ProjectID, d.ActorID, d.CreatedAt, d.ParseErrors})
	}
	for _, r := range ui.Monitor.Rows {
		row := RunRow{RunID: r.RunID, ProjectID: r.ProjectID, RunStatus: r.RunStatus, ParseErrors: r.ParseErrors, CreatedAt: r.CreatedAt}
		if r.RowSession != nil {
			row.LiveStatus = r.LiveStatus
		}
		if r.LastEvent != nil {
			row.LastEventType = r.LastEvent.Type
		}
		s.Runs = append(s.Runs, row)
	}
	return s
}

func syncWorker(w worker.Status) SyncWorker {
	return SyncWorker{w.Enabled, w.Running, w.PendingWorkspaces, w.NotifyCalls, w.SyncErrors, w.LastErrorAt, w.LastError}
}

func heartbeat(h snapshot.Heartbeat) Heartbeat {
	return Heartbeat{
		Enabled: h.Enabled, Running: h.Running, TickIntervalMinutes: h.TickIntervalMinutes, TopKWorkers: h.TopKWorkers, MinWakeScore: h.MinWakeScore,
		LastTickAt: h.LastTickAt, NextTickAt: h.NextTickAt, Ticks: h.Stats.TicksTotal, WorkersWoken: h.Stats.WorkersWokenTotal,
		ActionsExecuted: h.Stats.ActionsExecutedTotal, ApprovalsQueued: h.Stats.ApprovalsQueuedTotal,
	}
}
