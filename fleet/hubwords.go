package fleet

// Requests on the hub's socket, and their results.

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
// everything before a start: policy, budgets, the lane.
type PlaceRequest struct {
	Order     session.Order `json:"order"`
	Placement Placement     `json:"placement"`
	Priority  string        `json:"priority,omitempty"` // of the launch lane
	// Only is the picked worker; the command line fits no other. Hold is the reserved slot there,
	// which the session uses while the reservation lasts.
	Only string `json:"only,omitempty"`
	Hold string `json:"hold,omitempty"`
}

// PickRequest asks for a worker before the session is ordered, because the command line depends
// on the worker's program. The reservation of the slot lasts while the connection is open.
type PickRequest struct {
	Order     session.Order `json:"order"` // only what matters for the choice
	Placement Placement     `json:"placement"`
	Priority  string        `json:"priority,omitempty"`
	Words     []string      `json:"words,omitempty"` // program to judge; empty for the provider's
}

// PickResult is the picked worker and its program for the provider. Local is true if the
// placement is "any" and no slot is free.
type PickResult struct {
	WorkerID   string        `json:"worker_id,omitempty"`
	WorkerName string        `json:"worker_name,omitempty"`
	Hold       string        `json:"hold,omitempty"`
	Local      bool          `json:"local,omitempty"`
	Program    ProviderProbe `json:"program"`
}

// PlaceResult is where a session was placed. Local is true if the placement is "any" and no slot
// was free. Then the hub wrote nothing, and the caller starts the session on this machine.
type PlaceResult struct {
	WorkerID   string `json:"worker_id,omitempty"`
	WorkerName string `json:"worker_name,omitempty"`
	Epoch      int    `json:"epoch,omitempty"`
	Local      bool   `json:"local,omitempty"`
}

// UnfitWorker is why a worker cannot execute an attempt. It is an item of data.workers of
// no_worker.
type UnfitWorker struct {
	WorkerID string `json:"worker_id"`
	Name     string `json:"name"`
	Why      string `json:"why"`
}

// NoWorkerData is the data of no_worker.
type NoWorkerData struct {
	Workers []UnfitWorker `json:"workers"`
}

// InviteRequest creates a worker. The result contains the token, which is not stored anywhere.
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

// UpdateRequest changes the worker's fields that are set here. The result is the new WorkerRow.
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
	By       string `json:"by,omitempty"` // id of the actor
}

// RevokeResult lists the refs of the fenced sessions.
type RevokeResult struct {
	Fenced []string `json:"fenced"`
}

// AbandonRequest fences the attempt of an unreachable session. The result is empty; the end of
// the session is in its record.
type AbandonRequest struct {
	SessionRef string `json:"session_ref"`
	Reason     string `json:"reason"`
	By         string `json:"by,omitempty"`
}

// ConfigRequest changes the settings that are set here. The result is all Settings.
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
	Connected  *bool         `json:"connected,omitempty"` // to the carrier; nil if no hub runs
	Durability string        `json:"durability,omitempty"`
	StartedAt  string        `json:"started_at,omitempty"`
	Workers    WorkerCounts  `json:"workers"`
	Slots      SlotCounts    `json:"slots"`
	Queue      QueueCounts   `json:"queue"`
	Streams    StreamCounts  `json:"streams"`
	Lag        Lag           `json:"lag"`
	Attempts   AttemptCounts `json:"attempts"`
	Refused    int64         `json:"refused"`
	Broken     []string      `json:"broken,omitempty"` // unreadable files
	Error      string        `json:"error,omitempty"`  // why the hub cannot seal now
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

// QueueCounts counts launches that wait for a slot and attempts that wait for a claim.
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

// Lag is how far the logs lag behind what workers report.
type Lag struct {
	Drafts   int64 `json:"drafts"`
	OldestMS int64 `json:"oldest_ms"` // age of the oldest unsealed draft
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
	Lag        int64  `json:"lag"` // unsealed drafts
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
