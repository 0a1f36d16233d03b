package snapshot

// What the heartbeat is set to and has done, read from its files.

import (
	"ac/heartbeat"
	"ac/workspace"
	"ac/workspace/doc"
)

// Heartbeat is the heartbeat in a few words.
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

// readHeartbeat tells of the heartbeat of a workspace. It runs while somebody
// holds the lock of its tick, whatever the state says. A config that does not
// fit turns it off; a state that does not fit counts as none.
func readHeartbeat(w *workspace.Workspace) Heartbeat {
	config, _ := heartbeat.Config(w) // which is off when there is a problem
	h := Heartbeat{
		Enabled: config.Enabled, TickIntervalMinutes: config.TickIntervalMinutes, TopKWorkers: config.TopKWorkers, MinWakeScore: config.MinWakeScore,
		HeartbeatHierarchy: config.HeartbeatHierarchy,
	}
	h.Running, _ = heartbeat.Ticking(w) // a lock that cannot be seen is held by nobody
	state, _ := heartbeat.ReadState(w)  // which is empty when there is a problem
	h.LastTickAt, h.NextTickAt, h.Stats = state.LastTickAt, state.NextTickAt, state.Stats
	return h
}
