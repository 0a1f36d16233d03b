package snapshot

// The heartbeat's config and statistics, read from its files.

import (
	"ac/heartbeat"
	"ac/workspace"
	"ac/workspace/doc"
)

// Heartbeat is a summary of the heartbeat.
type Heartbeat struct {
	Enabled             bool `json:"enabled"`
	Running             bool `json:"running"`
	TickIntervalMinutes int  `json:"tick_interval_minutes"`
	TopKWorkers         int  `json:"top_k_workers"`
	MinWakeScore        int  `json:"min_wake_score"`
	doc.HeartbeatHierarchy
	LastTickAt string             `json:"last_tick_at,omitempty"`
	NextTickAt string             `json:"next_tick_at,omitempty"`
	Stats      doc.HeartbeatStats `json:"stats"`
}

// readHeartbeat reads the heartbeat of a workspace. It is running while a process holds the tick
// lock, whatever the state file contains. With an invalid config the heartbeat is off. An invalid
// state counts as none.
func readHeartbeat(w *workspace.Workspace) Heartbeat {
	config, _ := heartbeat.Config(w) // off if there is a problem
	h := Heartbeat{
		Enabled: config.Enabled, TickIntervalMinutes: config.TickIntervalMinutes, TopKWorkers: config.TopKWorkers, MinWakeScore: config.MinWakeScore,
		HeartbeatHierarchy: config.HeartbeatHierarchy,
	}
	h.Running, _ = heartbeat.TickRunning(w) // a lock that cannot be read counts as free
	state, _ := heartbeat.ReadState(w)      // empty if there is a problem
	h.LastTickAt, h.NextTickAt, h.Stats = state.LastTickAt, state.NextTickAt, state.Stats
	return h
}
