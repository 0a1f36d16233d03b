package session

// What may be asked of the supervisor of a session, and what it answers.

import (
	"ac/runs/budget"
	"ac/runs/interaction"
	"ac/workspace/doc"
)

// VerbLimits is of the second version, and of every session.
const VerbLimits = "limits"

// Verbs of the second version, of live sessions alone.
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

// SteerResult says what becomes of it.
type SteerResult struct {
	Accepted    bool   `json:"accepted"`
	SteerID     string `json:"steer_id"`
	Turn        int    `json:"turn"`
	Delivery    string `json:"delivery"`
	QueueLength int    `json:"queue_length"`
}

// PromptRequest is a prompt for a live session that is idle.
type PromptRequest struct {
	Actor           string `json:"actor_id"`
	Text            string `json:"text"`
	Model           string `json:"model,omitempty"`
	ClientMessageID string `json:"client_message_id,omitempty"`
	Display
}

// PromptResult is the turn that it began.
type PromptResult struct {
	Turn     int    `json:"turn"`
	ThreadID string `json:"thread_id,omitempty"`
}

// InterruptRequest asks for the end of a turn; 0 for whichever is under way.
type InterruptRequest struct {
	Actor        string `json:"actor_id"`
	ExpectedTurn int    `json:"expected_turn,omitempty"`
}

// InterruptResult is the turn whose end was asked for.
type InterruptResult struct {
	Interrupted bool `json:"interrupted"`
	Turn        int  `json:"turn"`
}

// AnswerRequest is what somebody answers. Who may is decided before.
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
	Cancel        bool                `json:"cancel,omitempty"` // nobody answers the question
}

// AnswerResult says what came of it.
type AnswerResult struct {
	InteractionID string `json:"interaction_id"`
	State         string `json:"state"`
	ResolvedAt    string `json:"resolved_at"`
	Scope         string `json:"scope,omitempty"`
	HandedOver    bool   `json:"handed_over"`
}

// PolicyRequest is a change of the policy. Who may make it is decided before; Raise
// says that the level may rise.
type PolicyRequest struct {
	Actor string            `json:"actor_id"`
	Raise bool              `json:"raise,omitempty"`
	Mode  doc.Mode          `json:"mode,omitempty"`
	Level doc.Level         `json:"permission_level,omitempty"`
	Rules *[]doc.PolicyRule `json:"rules,omitempty"`
	First *[]doc.PolicyRule `json:"first,omitempty"` // those of the run's workflow
}

// PolicyResult is the policy after it, and what was resolved by that.
type PolicyResult struct {
	Policy   doc.RunPolicy `json:"policy"`
	Resolved []string      `json:"resolved"`
}

// CompactRequest asks for a smaller conversation.
type CompactRequest struct {
	Actor string `json:"actor_id"`
}

// CompactResult says how it becomes smaller.
type CompactResult struct {
	Accepted bool   `json:"accepted"`
	How      string `json:"how"`
}

// LiveState is a live session as it is now.
type LiveState struct {
	Activity string                `json:"activity"`
	Turn     int                   `json:"turn"`
	Policy   doc.RunPolicy         `json:"policy"`
	Open     []interaction.Request `json:"open"`
	Queued   []SteerEvent          `json:"queued"`
}

// LimitsRequest says what the session may still spend. Each replaces the one before.
type LimitsRequest struct {
	Allowance *budget.Allowance `json:"allowance"` // nil for no limit
	// HoldsAfterMS is how long it waits for the next one before it holds: whoever sends
	// them counts the budgets itself meanwhile. 0 holds at once.
	HoldsAfterMS int64 `json:"holds_after_ms,omitempty"`
}

// LimitsResult says whether the allowance holds already.
type LimitsResult struct {
	Holds bool `json:"holds"`
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

// LimitData stands beside the reasons that speak of a limit.
type LimitData struct {
	Limit int `json:"limit"`
}

// MaxSteers is how many texts of a run may wait.
const MaxSteers = 32
