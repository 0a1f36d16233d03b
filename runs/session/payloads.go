package session

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
	display
	ClientMessageID string `json:"client_message_id,omitempty"`
	QueueLength     int    `json:"queue_length"`
}

// display is what people are shown in place of a text, and what a client keeps with it.
type display struct {
	DisplayText string          `json:"display_text,omitempty"`
	DisplayMeta json.RawMessage `json:"display_meta,omitempty"`
}

type turnStartedPayload struct {
	Turn      int      `json:"turn"`
	Cause     string   `json:"cause"`
	Text      string   `json:"text"`
	TextBytes int      `json:"text_bytes"`
	Truncated bool     `json:"truncated,omitempty"`
	Digest    string   `json:"digest_relpath,omitempty"`
	SteerIDs  []string `json:"steer_ids"`
	display
	ClientMessageID string `json:"client_message_id,omitempty"`
	Model           string `json:"model,omitempty"`
}

type turnEndedPayload struct {
	Turn           int    `json:"turn"`
	Status         string `json:"status"`
	StopReason     string `json:"stop_reason,omitempty"`
	Error          string `json:"error,omitempty"`
	ErrorKind      string `json:"error_kind,omitempty"`
	Reason         string `json:"reason,omitempty"`
	DurationMS     int64  `json:"duration_ms"`
	ProviderTurnID string `json:"provider_turn_id,omitempty"`
}

type appliedPayload struct {
	SteerID string `json:"steer_id"`
	Turn    int    `json:"turn"`
	How     string `json:"how"`
}

type discardedPayload struct {
	SteerID string `json:"steer_id"`
	Reason  string `json:"reason"`
	Error   string `json:"error,omitempty"`
}

type compactRequestedPayload struct {
	How string `json:"how"`
}

type compactedPayload struct {
	How   string `json:"how"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// maxText bounds the text of an event; the whole lies in the outputs.
const maxText = 64 << 10

// maxError bounds the words of an agent about a failure.
const maxError = 2 << 10
