package session

// The verbs of a supervisor's socket, with their requests and results.

import (
	"ac/runs/budget"
	"ac/runs/interaction"
	"ac/workspace/doc"
)

// VerbLimits is a version 2 verb of every session.
const VerbLimits = "limits"

// Version 2 verbs that only live sessions have.
const (
	VerbSteer     = "steer"
	VerbInterrupt = "interrupt"
	VerbAnswer    = "answer"
	VerbPolicy    = "policy"
	VerbLive      = "live"
	VerbPrompt    = "prompt"
	VerbMore      = "more"
	VerbCompact   = "compact"
)

// SteerRequest is a text for a live session.
type SteerRequest struct {
	Actor           string `json:"actor_id"`
	Text            string `json:"text"`
	Mode            string `json:"mode"`
	ExpectedTurn    int    `json:"expected_turn,omitempty"`
	ClientMessageID string `json:"client_message_id,omitempty"`
	Display
}

// SteerResult reports how a steer will be delivered.
type SteerResult struct {
	Accepted    bool   `json:"accepted"`
	SteerID     string `json:"steer_id"`
	Turn        int    `json:"turn"`
	Delivery    string `json:"delivery"`
	QueueLength int    `json:"queue_length"`
}

// PromptRequest is a prompt for an idle live session.
type PromptRequest struct {
	Actor           string `json:"actor_id"`
	Text            string `json:"text"`
	Model           string `json:"model,omitempty"`
	ClientMessageID string `json:"client_message_id,omitempty"`
	Display
}

// PromptResult is the turn that a prompt began.
type PromptResult struct {
	Turn     int    `json:"turn"`
	ThreadID string `json:"thread_id,omitempty"`
}

// InterruptRequest requests the end of a turn. An ExpectedTurn of 0 means the current one.
type InterruptRequest struct {
	Actor        string `json:"actor_id"`
	ExpectedTurn int    `json:"expected_turn,omitempty"`
}

// InterruptResult is the turn being interrupted.
type InterruptResult struct {
	Interrupted bool `json:"interrupted"`
	Turn        int  `json:"turn"`
}

// AnswerRequest is somebody's answer to an interaction. The caller has already authorized it.
type AnswerRequest struct {
	InteractionID string              `json:"interaction_id"`
	Actor         string              `json:"actor_id"`
	Role          string              `json:"actor_role"`
	OptionID      string              `json:"option_id,omitempty"`
	Decision      string              `json:"decision,omitempty"`
	Scope         string              `json:"scope,omitempty"`
	Text          *string             `json:"text,omitempty"`
	Answers       map[string][]string `json:"answers,omitempty"`
	Note          string              `json:"note,omitempty"`
	Cancel        bool                `json:"cancel,omitempty"` // cancels the question without an answer
}

// AnswerResult is the outcome of an answer.
type AnswerResult struct {
	InteractionID string `json:"interaction_id"`
	State         string `json:"state"`
	ResolvedAt    string `json:"resolved_at"`
	Scope         string `json:"scope,omitempty"`
	HandedOver    bool   `json:"handed_over"`
}

// PolicyRequest is a policy change. The caller has already authorized it. Raise permits a higher
// permission level.
type PolicyRequest struct {
	Actor string            `json:"actor_id"`
	Raise bool              `json:"raise,omitempty"`
	Mode  doc.Mode          `json:"mode,omitempty"`
	Level doc.Level         `json:"permission_level,omitempty"`
	Rules *[]doc.PolicyRule `json:"rules,omitempty"`
	First *[]doc.PolicyRule `json:"first,omitempty"` // rules of the run's workflow
}

// PolicyResult is the changed policy and the interactions that the change resolved.
type PolicyResult struct {
	Policy   doc.RunPolicy `json:"policy"`
	Resolved []string      `json:"resolved"`
}

// CompactRequest requests compaction of a conversation.
type CompactRequest struct {
	Actor string `json:"actor_id"`
}

// CompactResult reports how the conversation will be compacted.
type CompactResult struct {
	Accepted bool   `json:"accepted"`
	How      string `json:"how"`
}

// LiveState is the current state of a live session.
type LiveState struct {
	Activity string                `json:"activity"`
	Turn     int                   `json:"turn"`
	Policy   doc.RunPolicy         `json:"policy"`
	Open     []interaction.Request `json:"open"`
	Queued   []SteerEvent          `json:"queued"`
}

// LimitsRequest sets what the session may still spend. Each request replaces the one before.
type LimitsRequest struct {
	Allowance *budget.Allowance `json:"allowance"` // nil for no limit
	// InForceAfterMS is the delay before the allowance applies, in milliseconds; 0 for none. The
	// sender renews it in time while it counts the budgets itself.
	InForceAfterMS int64 `json:"holds_after_ms,omitempty"`
}

// LimitsResult reports whether the allowance already applies.
type LimitsResult struct {
	InForce bool `json:"holds"`
}

// Modes of a steer.
const (
	ModeNextTurn  = "next_turn"
	ModeInterrupt = "interrupt"
	ModeAfterTurn = "after_turn"
)

// Deliveries of a steer.
const (
	DeliveryMidTurn    = "mid_turn"
	DeliveryNextTurn   = "next_turn"
	DeliveryNewTurn    = "new_turn"
	DeliveryInterrupt  = "interrupt"
	DeliveryNextLaunch = "next_launch"
)

// Ways to compact a conversation.
const (
	CompactProvider = "provider"
	CompactDigest   = "digest"
)

// Causes of the first turn of a session.
const (
	CauseLaunch   = "launch"
	CauseContinue = "continue"
)

// LimitData is the error data of faults about a limit.
type LimitData struct {
	Limit int `json:"limit"`
}

// MaxSteers is how many texts of a run may wait.
const MaxSteers = 32
