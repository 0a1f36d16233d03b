package doc

// The live part of a run's record: its newest live session, and the policy that answers the
// agent's permission requests. Package runs/policy evaluates the policy.

import "ac/internal/fault"

// Mode is how much an agent may do without asking.
type Mode string

// The modes.
const (
	ModeDefault     Mode = "default"
	ModeAcceptEdits Mode = "accept_edits"
	ModePlan        Mode = "plan"
	ModeFullAuto    Mode = "full_auto"
)

// Level is the upper limit of what a run may do, whatever anyone allows.
type Level string

// The permission levels, from least to most.
const (
	LevelReadOnly    Level = "read-only"
	LevelPatch       Level = "patch"
	LevelRunCommands Level = "run-commands"
	LevelFull        Level = "full"
)

// Operation is the kind of action that a permission request is about.
type Operation string

// The operations.
const (
	OpRead    Operation = "fs_read"
	OpWrite   Operation = "fs_write"
	OpExec    Operation = "fs_exec"
	OpNetwork Operation = "network"
	OpMCPTool Operation = "mcp_tool"
)

// Effect is the outcome of a rule or of a policy decision.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
	Ask   Effect = "ask"
)

// PolicyRule is one rule of a run's policy. ac assigns ID and Literal.
type PolicyRule struct {
	_         struct{}  `is:"strict"`
	Operation Operation `json:"operation" is:"enum=fs_read|fs_write|fs_exec|network|mcp_tool"`
	Effect    Effect    `json:"effect" is:"enum=allow|deny|ask"`
	Glob      string    `json:"glob" is:"maxbytes=500"`
	ID        string    `json:"id,omitzero" is:"optional,maxbytes=200"`
	// Once removes the rule after a request that it asked about was allowed.
	Once bool `json:"once,omitzero" is:"optional"`
	// Literal compares the glob as plain text.
	Literal bool `json:"literal,omitzero" is:"optional"`
}

// Check allows Once only for rules that ask.
func (r *PolicyRule) Check() []fault.Issue {
	if r.Once && r.Effect != Ask {
		return []fault.Issue{{Path: []any{"once"}, Code: "custom", Message: "is for rules with effect ask only"}}
	}
	return nil
}

// RunPolicy is live.policy of a run.
type RunPolicy struct {
	_               struct{}     `is:"strict"`
	Mode            Mode         `json:"mode" is:"enum=default|accept_edits|plan|full_auto"`
	PermissionLevel Level        `json:"permission_level" is:"enum=read-only|patch|run-commands|full"`
	Rules           []PolicyRule `json:"rules" is:"default="`
}

// Live is the field live of run.yaml. If the policy was set before the run's first live
// session, only Policy is meaningful, and Sessions and Turns are 0.
type Live struct {
	_              struct{}        `is:"strict"`
	Driver         string          `json:"driver,omitzero" is:"optional,enum=codex|claude|acp|command"`
	AgentName      string          `json:"agent_name,omitzero" is:"optional,maxbytes=200"`
	AgentVersion   string          `json:"agent_version,omitzero" is:"optional,maxbytes=200"`
	ThreadBaseline *ThreadBaseline `json:"thread_baseline,omitzero" is:"optional"`
	// ThreadSpent is what the newest session used before the agent's conversation began.
	ThreadSpent   *ThreadBaseline `json:"thread_spent,omitzero" is:"optional"`
	Sessions      int             `json:"sessions" is:"min=0"`
	Turns         int             `json:"turns" is:"min=0"`
	Policy        RunPolicy       `json:"policy"`
	Interactive   bool            `json:"interactive" is:"default=false"`
	KeepOpen      bool            `json:"keep_open" is:"default=false"`
	IdleTimeoutMS *int64          `json:"idle_timeout_ms,omitzero" is:"optional,gt=0"`
	PriorUsage    *Usage          `json:"prior_usage,omitzero" is:"optional"`
}

// ThreadBaseline is the usage of an agent's conversation when the newest session began.
type ThreadBaseline struct {
	_                     struct{} `is:"strict"`
	InputTokens           *int64   `json:"input_tokens,omitzero" is:"optional,min=0"`
	CachedInputTokens     *int64   `json:"cached_input_tokens,omitzero" is:"optional,min=0"`
	OutputTokens          *int64   `json:"output_tokens,omitzero" is:"optional,min=0"`
	ReasoningOutputTokens *int64   `json:"reasoning_output_tokens,omitzero" is:"optional,min=0"`
	TotalTokens           *int64   `json:"total_tokens,omitzero" is:"optional,min=0"`
	CostUSD               *float64 `json:"cost_usd,omitzero" is:"optional,min=0"`
}
