package snapshot

// What the heartbeat is set to and has done, read from its files.

import (
	"ac/internal/lock"
	"ac/internal/shape"
	"ac/internal/yamldoc"
	"ac/workspace"
)

// Where the heartbeat keeps its files.
const (
	heartbeatConfig = ".local/heartbeat/config.yaml"
	heartbeatState  = ".local/heartbeat/state.yaml"
	heartbeatLock   = ".local/heartbeat/tick.lock"
)

// Heartbeat is the heartbeat in a few words.
type Heartbeat struct {
	Enabled             bool           `json:"enabled"`
	Running             bool           `json:"running"`
	TickIntervalMinutes int            `json:"tick_interval_minutes"`
	TopKWorkers         int            `json:"top_k_workers"`
	MinWakeScore        int            `json:"min_wake_score"`
	LastTickAt          string         `json:"last_tick_at,omitempty"`
	NextTickAt          string         `json:"next_tick_at,omitempty"`
	Stats               HeartbeatStats `json:"stats"`
}

// HeartbeatStats are its counts since it began.
type HeartbeatStats struct {
	Ticks           int64 `json:"ticks_total" is:"default=0,min=0"`
	WorkersWoken    int64 `json:"workers_woken_total" is:"default=0,min=0"`
	ReportsOK       int64 `json:"reports_ok_total" is:"default=0,min=0"`
	ReportsActions  int64 `json:"reports_actions_total" is:"default=0,min=0"`
	ActionsExecuted int64 `json:"actions_executed_total" is:"default=0,min=0"`
	ApprovalsQueued int64 `json:"approvals_queued_total" is:"default=0,min=0"`
	DedupedActions  int64 `json:"deduped_actions_total" is:"default=0,min=0"`
}

// tickState is the part of the state that is told.
type tickState struct {
	Type       string         `json:"type" is:"default=heartbeat_state,enum=heartbeat_state"`
	LastTickAt string         `json:"last_tick_at" is:"optional,time"`
	NextTickAt string         `json:"next_tick_at" is:"optional,time"`
	Stats      HeartbeatStats `json:"stats" is:"optional"`
}

var tickStateCodec = yamldoc.For[tickState]()

// setting is a number of the config with what it is and may be.
type setting struct {
	key                string
	usual, least, most int
}

// settings are all numbers of the config; those that are told come first.
func settings() []setting {
	return []setting{
		{"tick_interval_minutes", 20, 1, 1440},
		{"top_k_workers", 2, 1, 100},
		{"min_wake_score", 3, 0, 100},
		{"ok_suppression_minutes", 60, 0, 1440},
		{"due_horizon_minutes", 120, 1, 1440},
		{"max_auto_actions_per_tick", 10, 1, 10_000},
		{"max_auto_actions_per_hour", 60, 1, 100_000},
		{"quiet_hours_start_hour", 22, 0, 23},
		{"quiet_hours_end_hour", 7, 0, 23},
		{"stuck_job_running_minutes", 30, 1, 1440},
		{"idempotency_ttl_days", 14, 1, 365},
		{"jitter_max_seconds", 90, 0, 3600},
	}
}

// readHeartbeat tells of the heartbeat of a workspace. It runs while somebody
// holds the lock of its tick, whatever the state says. A config that does not
// fit turns it off; a state that does not fit counts as none.
func readHeartbeat(w *workspace.Workspace) Heartbeat {
	var config shape.Value
	text, err := w.Read(heartbeatConfig)
	broken := err != nil && w.Exists(heartbeatConfig)
	if err == nil {
		config, err = yamldoc.Parse(text)
		broken = err != nil
	}
	h := effective(config, broken)
	h.Running, _ = lock.Busy(w.FS, heartbeatLock) // a lock that cannot be seen is held by nobody
	if text, err := w.Read(heartbeatState); err == nil {
		if state, err := tickStateCodec.Decode(text); err == nil {
			h.LastTickAt, h.NextTickAt, h.Stats = state.LastTickAt, state.NextTickAt, state.Stats
		}
	}
	return h
}

// effective takes every setting that fits, for the others what is usual.
func effective(config shape.Value, broken bool) Heartbeat {
	enabled := true
	known := map[string]bool{"schema_version": true, "type": true, "enabled": true}
	if config.Kind != shape.Absent && config.Kind != shape.Map && config.Kind != shape.Null {
		broken = true
	}
	if v := config.Get("enabled"); v.Kind != shape.Absent {
		broken = broken || v.Kind != shape.Bool
		enabled = v.Bool
	}
	if v := config.Get("type"); v.Kind != shape.Absent && v.Text != "heartbeat_config" {
		broken = true
	}
	if v := config.Get("schema_version"); v.Kind != shape.Absent && (v.Kind != shape.Number || v.Num < 1 || v.Num != float64(int(v.Num))) {
		broken = true
	}
	numbers := make([]int, 0, len(settings()))
	for _, s := range settings() {
		known[s.key] = true
		n, v := s.usual, config.Get(s.key)
		switch {
		case v.Kind == shape.Absent:
		case v.Kind == shape.Number && v.Num == float64(int(v.Num)) && int(v.Num) >= s.least && int(v.Num) <= s.most:
			n = int(v.Num)
		default:
			broken = true
		}
		numbers = append(numbers, n)
	}
	for _, key := range config.Keys {
		broken = broken || !known[key]
	}
	return Heartbeat{Enabled: enabled && !broken, TickIntervalMinutes: numbers[0], TopKWorkers: numbers[1], MinWakeScore: numbers[2]}
}
