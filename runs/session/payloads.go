package session

// Payloads of live-session events. The conversation writes them, and later sessions and
// reconciliation read them.

import "encoding/json"

// SteerEvent is the payload of run.steer_queued.
type SteerEvent struct {
	ID        string `json:"steer_id"`
	Text      string `json:"text"`
	TextBytes int    `json:"text_bytes"`
	Truncated bool   `json:"truncated,omitempty"`
	Mode      string `json:"mode"`
	Delivery  string `json:"delivery"`
	Turn      int    `json:"turn,omitempty"`
	Display
	ClientMessageID string `json:"client_message_id,omitempty"`
	QueueLength     int    `json:"queue_length"`
}

// Display is what people see in place of a text, and the metadata that a client attaches.
type Display struct {
	DisplayText string          `json:"display_text,omitempty"`
	DisplayMeta json.RawMessage `json:"display_meta,omitempty"`
}

// TurnStartedPayload is the payload of run.turn_started.
type TurnStartedPayload struct {
	Turn      int      `json:"turn"`
	Cause     string   `json:"cause"`
	Text      string   `json:"text"`
	TextBytes int      `json:"text_bytes"`
	Truncated bool     `json:"truncated,omitempty"`
	Digest    string   `json:"digest_relpath,omitempty"`
	SteerIDs  []string `json:"steer_ids"`
	Display
	ClientMessageID string `json:"client_message_id,omitempty"`
	Model           string `json:"model,omitempty"`
}

// TurnEndedPayload is the payload of run.turn_ended.
type TurnEndedPayload struct {
	Turn           int    `json:"turn"`
	Status         string `json:"status"`
	StopReason     string `json:"stop_reason,omitempty"`
	Error          string `json:"error,omitempty"`
	ErrorKind      string `json:"error_kind,omitempty"`
	Reason         string `json:"reason,omitempty"`
	DurationMS     int64  `json:"duration_ms"`
	ProviderTurnID string `json:"provider_turn_id,omitempty"`
}

// SteerAppliedPayload is the payload of run.steer_applied.
type SteerAppliedPayload struct {
	SteerID string `json:"steer_id"`
	Turn    int    `json:"turn"`
	How     string `json:"how"`
}

// SteerDiscardedPayload is the payload of run.steer_discarded.
type SteerDiscardedPayload struct {
	SteerID string `json:"steer_id"`
	Reason  string `json:"reason"`
	Error   string `json:"error,omitempty"`
}

// CompactRequestedPayload is the payload of run.compact_requested.
type CompactRequestedPayload struct {
	How string `json:"how"`
}

// CompactedPayload is the payload of run.compacted.
type CompactedPayload struct {
	How   string `json:"how"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// MaxText bounds the text in an event, in bytes. The outputs hold the full text.
const MaxText = 64 << 10

// MaxError bounds an agent's error message in an event, in bytes.
const MaxError = 2 << 10
