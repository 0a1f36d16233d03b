package fleet

// The requests of the hub's socket and their results.

import (
	"encoding/json"

	"ac/internal/fault"
	"ac/runs/session"
)

// Verbs of the hub's socket.
const (
	HubPlace   = "place"
	HubPick    = "pick"
	HubInvite  = "invite"
	HubUpdate  = "update"
	HubDrain   = "drain"
	HubRevoke  = "revoke"
	HubConfig  = "config"
	HubStatus  = "status"
	HubWorkers = "workers"
	HubAbandon = "abandon"
	HubProbe   = "probe"
	HubStop    = "stop"
)

// PlaceRequest asks the hub to execute a session on a worker. The caller has already done
// what precedes a start: policy, budgets, the lane.
type PlaceRequest struct {
	Order     session.Order `json:"order"`
	Placement Placement     `json:"placement"`
	Priority  string        `json:"priority,omitempty"` // of the launch lane
	// Only is the worker that was picked for it: its command line is of no use elsewhere.
	// Hold is the slot that was held there, taken while it is held.
	Only string `json:"only,omitempty"`
	Hold string `json:"hold,omitempty"`
}

// PickRequest asks for a worker before the session is ordered, since the command line
// depends on the worker's program. The slot is held while the connection stays open.
type PickRequest struct {
	Order     session.Order `json:"order"` // as far as it counts for the choice
	Placement Placement     `json:"placement"`
	Priority  string        `json:"priority,omitempty"`
	Words     []string      `json:"words,omitempty"` // whose program is judged, none for that of the provider
}

// PickResult is the worker with its program of the provider. Local: the placement is "any",
// and no slot is free.
type PickResult struct {
	WorkerID   string        `json:"worker_id,omitempty"`
	WorkerName string        `json:"worker_name,omitempty"`
	Hold       string        `json:"hold,omitempty"`
	Local      bool          `json:"local,omitempty"`
	Program    ProviderProbe `json:"program"`
}

// PlaceResult is where a session was placed. Local: the placement is "any" and no slot was
// free; nothing was written, and the caller starts the session on this machine.
type PlaceResult struct {
	WorkerID   string `json:"worker_id,omitempty"`
	WorkerName string `json:"worker_name,omitempty"`
	Epoch      int    `json:"epoch,omitempty"`
	Local      bool   `json:"local,omitempty"`
}

// UnfitWorker is why a worker cannot take an attempt, an item of data.workers of no_worker.
type UnfitWorker struct {
	WorkerID string `json:"worker_id"`
	Name     string `json:"name"`
	Why      string `json:"why"`
}

// NoWorkerData is the data of no_worker.
type NoWorkerData struct {
	Workers []UnfitWorker `json:"workers"`
}

// InviteRequest creates a worker. The result has the token, which is stored nowhere.
type InviteRequest struct {
	Name        string   `json:"name"`
	Labels      []string `json:"labels,omitempty"`
	Slots       int      `json:"slots,omitempty"`
	ExpiresS    int64    `json:"expires_s,omitempty"` // 0 for an hour
	TrustLabels bool     `json:"trust_labels,omitempty"`
}

// InviteResult is an invitation.
type InviteResult struct {
	WorkerID  string `json:"worker_id"`
	Token     string `json:"token"`
	ExpiresAt string `json:"expires_at"`
}

// UpdateRequest changes the fields of a worker that are set. The result is the new
// WorkerRow.
type UpdateRequest struct {
	WorkerID string    `json:"worker_id"` // id or name, here and below
	Name     string    `json:"name,omitempty"`
	Labels   *[]string `json:"labels,omitempty"`
	Slots    int       `json:"slots,omitempty"`
}

// DrainRequest sets whether a worker accepts new orders. The result is the WorkerRow.
type DrainRequest struct {
	WorkerID string `json:"worker_id"`
	On       bool   `json:"on"`
}

// RevokeRequest revokes a worker for good and fences its attempts.
type RevokeRequest struct {
	WorkerID string `json:"worker_id"`
	Reason   string `json:"reason,omitempty"`
}

// RevokeResult has the refs of the sessions that were fenced.
type RevokeResult struct {
	Fenced []string `json:"fenced"`
}

// AbandonRequest fences the attempt of an unreachable session. The result is empty: the
// session's record has its end.
type AbandonRequest struct {
	SessionRef string `json:"session_ref"`
	Reason     string `json:"reason"`
	By         string `json:"by,omitempty"`
}

// ConfigRequest changes the settings that are set. The result is all Settings.
type ConfigRequest struct {
	Settings Settings `json:"settings"`
}

// ProbeRequest asks what a provider's agent can do on a worker.
type ProbeRequest struct {
	WorkerID string `json:"worker_id"`
	Provider string `json:"provider"`
}

// StatusResult is hub.status.
type StatusResult struct {
	Running    bool          `json:"running"`
	HubID      string        `json:"hub_id,omitempty"`
	PID        int           `json:"pid,omitempty"`
	Version    string        `json:"version,omitempty"`
	Carrier    string        `json:"carrier,omitempty"`
	Listen     []string      `json:"listen"`
	Connected  *bool         `json:"connected,omitempty"` // to the carrier
	Durability string        `json:"durability,omitempty"`
	StartedAt  string        `json:"started_at,omitempty"`
	Workers    WorkerCounts  `json:"workers"`
	Slots      SlotCounts    `json:"slots"`
	Queue      QueueCounts   `json:"queue"`
	Streams    StreamCounts  `json:"streams"`
	Lag        Lag           `json:"lag"`
	Attempts   AttemptCounts `json:"attempts"`
	Refused    int64         `json:"refused"`
	Broken     []string      `json:"broken,omitempty"` // files that cannot be read
	Error      string        `json:"error,omitempty"`  // why nothing is sealed now
}

// WorkerCounts counts workers.
type WorkerCounts struct {
	Active       int `json:"active"`
	Offline      int `json:"offline"`
	Draining     int `json:"draining"`
	Incompatible int `json:"incompatible"`
}

// SlotCounts counts the slots of online workers.
type SlotCounts struct {
	Total int `json:"total"`
	Used  int `json:"used"`
}

// QueueCounts counts launches that wait for a slot, and attempts that wait for a claim.
type QueueCounts struct {
	Waiting int `json:"waiting"`
	Placing int `json:"placing"`
}

// StreamCounts counts the messages in the carrier.
type StreamCounts struct {
	Orders int64 `json:"orders"`
	Drafts int64 `json:"drafts"`
	Bytes  int64 `json:"bytes"`
}

// Lag is how far the logs are behind what workers report.
type Lag struct {
	Drafts   int64 `json:"drafts"`
	OldestMS int64 `json:"oldest_ms"` // how long the oldest of them has waited
}

// AttemptCounts counts active attempts.
type AttemptCounts struct {
	Live        int `json:"live"`
	Unreachable int `json:"unreachable"`
}

// WorkerRow is an item of worker.list.
type WorkerRow struct {
	WorkerID      string       `json:"worker_id"`
	Name          string       `json:"name"`
	Role          string       `json:"role"`
	State         string       `json:"state"`
	Online        bool         `json:"online"`
	LastSeenAt    string       `json:"last_seen_at,omitempty"`
	Labels        []string     `json:"labels"`
	Slots         int          `json:"slots"`
	Used          int          `json:"used"`
	FreeSlots     int          `json:"free_slots"`
	Version       string       `json:"version,omitempty"`
	Compatible    *bool        `json:"compatible,omitempty"`
	OS            string       `json:"os,omitempty"`
	Arch          string       `json:"arch,omitempty"`
	Providers     []string     `json:"providers"`
	DiskFree      *int64       `json:"disk_free,omitempty"`
	Load1         *float64     `json:"load1,omitempty"`
	RTTMS         *float64     `json:"rtt_ms,omitempty"`
	ClockOffsetMS *int64       `json:"clock_offset_ms,omitempty"`
	SpooledBytes  *int64       `json:"spooled_bytes,omitempty"`
	Attempts      []AttemptRow `json:"attempts"`
}

// AttemptRow is a live attempt of a worker.
type AttemptRow struct {
	RunID      string `json:"run_id"`
	ProjectID  string `json:"project_id"`
	SessionRef string `json:"session_ref"`
	Epoch      int    `json:"epoch"`
	Reach      string `json:"reach"`
	Lag        int64  `json:"lag"` // drafts that are not sealed yet
}

// WorkersResult lists workers by name.
type WorkersResult struct {
	Workers []WorkerRow `json:"workers"`
}

// HubRequest is a request line of the hub's socket.
type HubRequest struct {
	Version int             `json:"version"` // 1
	Verb    string          `json:"verb"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// HubReply answers a HubRequest.
type HubReply struct {
	Error  string          `json:"error,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Reasons of faults of hubs and workers, in addition to fault.HubNotRunning.
const (
	HubRunning         fault.Reason = "hub_running"
	HubElsewhere       fault.Reason = "hub_elsewhere"
	NotInstalled       fault.Reason = "not_installed"
	NoWorker           fault.Reason = "no_worker"
	WorkerUnreachable  fault.Reason = "worker_unreachable"
	UnknownWorker      fault.Reason = "unknown_worker"
	InviteSpent        fault.Reason = "invite_spent"
	WorkerRunning      fault.Reason = "worker_running"
	DuplicateWorker    fault.Reason = "duplicate_worker"
	CarrierUnavailable fault.Reason = "carrier_unavailable"
	Incompatible       fault.Reason = "incompatible"
	SecretMissing      fault.Reason = "secret_missing"
	SourceUnavailable  fault.Reason = "source_unavailable"
	Fenced             fault.Reason = "fenced"
)
