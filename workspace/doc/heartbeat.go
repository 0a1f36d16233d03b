package doc

// The documents of the heartbeat: config, state, and proposed actions.

import (
	"slices"

	"ac/internal/fault"
	"ac/internal/yamldoc"
)

// HeartbeatConfig is .local/heartbeat/config.yaml. Absent fields have the
// values of DefaultHeartbeatConfig.
type HeartbeatConfig struct {
	_                     struct{} `is:"strict"`
	SchemaVersion         int      `json:"schema_version" is:"default=1,min=1"`
	Type                  string   `json:"type" is:"default=heartbeat_config,enum=heartbeat_config"`
	Enabled               bool     `json:"enabled" is:"default=true"`
	TickIntervalMinutes   int      `json:"tick_interval_minutes" is:"default=20,min=1,max=1440"`
	TopKWorkers           int      `json:"top_k_workers" is:"default=2,min=1,max=100"`
	MinWakeScore          int      `json:"min_wake_score" is:"default=3,min=0,max=100"`
	OKSuppressionMinutes  int      `json:"ok_suppression_minutes" is:"default=60,min=0,max=1440"`
	DueHorizonMinutes     int      `json:"due_horizon_minutes" is:"default=120,min=1,max=1440"`
	MaxAutoActionsPerTick int      `json:"max_auto_actions_per_tick" is:"default=10,min=1,max=10000"`
	MaxAutoActionsPerHour int      `json:"max_auto_actions_per_hour" is:"default=60,min=1,max=100000"`
	HeartbeatHierarchy
	QuietHoursStartHour    int `json:"quiet_hours_start_hour" is:"default=22,min=0,max=23"`
	QuietHoursEndHour      int `json:"quiet_hours_end_hour" is:"default=7,min=0,max=23"`
	StuckJobRunningMinutes int `json:"stuck_job_running_minutes" is:"default=30,min=1,max=1440"`
	IdempotencyTTLDays     int `json:"idempotency_ttl_days" is:"default=14,min=1,max=365"`
	JitterMaxSeconds       int `json:"jitter_max_seconds" is:"default=90,min=0,max=3600"`
}

// HierarchyEnterprise is the hierarchy in which the heartbeat also wakes directors.
const HierarchyEnterprise = "enterprise_v1"

// HierarchyStandard is the default hierarchy.
const HierarchyStandard = "standard"

// HeartbeatHierarchy determines whom the heartbeat wakes, and for whom it acts. A config
// stores these fields only if one differs from its default, since programs that do not know
// them would turn the heartbeat off.
type HeartbeatHierarchy struct {
	HierarchyMode               string `json:"hierarchy_mode,omitempty" is:"optional,enum=standard|enterprise_v1"`
	ExecutiveManagerAgentID     string `json:"executive_manager_agent_id,omitempty" is:"optional"`
	AllowDirectorToSpawnWorkers *bool  `json:"allow_director_to_spawn_workers,omitempty" is:"optional"`
}

// Enterprise reports whether the heartbeat also wakes directors.
func (h HeartbeatHierarchy) Enterprise() bool { return h.HierarchyMode == HierarchyEnterprise }

// DirectorsSpawn reports whether directors may launch jobs for workers.
func (h HeartbeatHierarchy) DirectorsSpawn() bool {
	return h.AllowDirectorToSpawnWorkers != nil && *h.AllowDirectorToSpawnWorkers
}

// SameHierarchy reports whether two hierarchies are equivalent.
func (h HeartbeatHierarchy) SameHierarchy(other HeartbeatHierarchy) bool {
	return h.Enterprise() == other.Enterprise() && h.ExecutiveManagerAgentID == other.ExecutiveManagerAgentID && h.DirectorsSpawn() == other.DirectorsSpawn()
}

// ForConfig returns the hierarchy as a config stores it: all fields, or none.
func (h HeartbeatHierarchy) ForConfig() HeartbeatHierarchy {
	if !h.Enterprise() && h.ExecutiveManagerAgentID == "" && !h.DirectorsSpawn() {
		return HeartbeatHierarchy{}
	}
	spawn := h.DirectorsSpawn()
	if h.AllowDirectorToSpawnWorkers = &spawn; h.HierarchyMode == "" {
		h.HierarchyMode = HierarchyStandard
	}
	return h
}

// DefaultHeartbeatConfig returns the config of a workspace that has none.
func DefaultHeartbeatConfig() HeartbeatConfig {
	return HeartbeatConfig{
		SchemaVersion: Version, Type: "heartbeat_config", Enabled: true, TickIntervalMinutes: 20, TopKWorkers: 2, MinWakeScore: 3,
		OKSuppressionMinutes: 60, DueHorizonMinutes: 120, MaxAutoActionsPerTick: 10, MaxAutoActionsPerHour: 60,
		QuietHoursStartHour: 22, QuietHoursEndHour: 7, StuckJobRunningMinutes: 30, IdempotencyTTLDays: 14, JitterMaxSeconds: 90,
	}
}

// HeartbeatState is .local/heartbeat/state.yaml.
type HeartbeatState struct {
	_                    struct{}                    `is:"strict"`
	SchemaVersion        int                         `json:"schema_version" is:"default=1,min=1"`
	Type                 string                      `json:"type" is:"default=heartbeat_state,enum=heartbeat_state"`
	Running              bool                        `json:"running" is:"default=false"`
	LastTickID           string                      `json:"last_tick_id,omitzero" is:"optional"`
	LastTickAt           string                      `json:"last_tick_at,omitzero" is:"optional,time"`
	LastTickReason       string                      `json:"last_tick_reason,omitzero" is:"optional"`
	NextTickAt           string                      `json:"next_tick_at,omitzero" is:"optional,time"`
	RunEventCursors      map[string]int64            `json:"run_event_cursors" is:"default=,min=0"`
	WorkerState          map[string]HeartbeatWorker  `json:"worker_state" is:"default="`
	Idempotency          map[string]IdempotencyEntry `json:"idempotency" is:"default="`
	HourlyActionCounters map[string]int64            `json:"hourly_action_counters" is:"default=,min=0"`
	Stats                HeartbeatStats              `json:"stats" is:"default="`
}

// HeartbeatCursors is the part of the state that grows with the number of runs. It is encoded
// separately.
type HeartbeatCursors struct {
	RunEventCursors map[string]int64 `json:"run_event_cursors" is:"default=,min=0"`
}

// EmptyHeartbeatState returns the state of a workspace that has none.
func EmptyHeartbeatState() HeartbeatState {
	return HeartbeatState{
		SchemaVersion: Version, Type: "heartbeat_state",
		RunEventCursors: map[string]int64{}, WorkerState: map[string]HeartbeatWorker{},
		Idempotency: map[string]IdempotencyEntry{}, HourlyActionCounters: map[string]int64{},
	}
}

// HeartbeatWorker is the state of one worker.
type HeartbeatWorker struct {
	_                struct{} `is:"strict"`
	LastOKAt         string   `json:"last_ok_at,omitzero" is:"optional,time"`
	LastContextHash  string   `json:"last_context_hash,omitzero" is:"optional"`
	SuppressedUntil  string   `json:"suppressed_until,omitzero" is:"optional,time"`
	LastWakeAt       string   `json:"last_wake_at,omitzero" is:"optional,time"`
	LastReportStatus string   `json:"last_report_status,omitzero" is:"optional,enum=ok|actions"`
}

// Statuses of an idempotency entry.
const (
	IdempotencyQueued   = "queued"
	IdempotencyExecuted = "executed"
)

// IdempotencyEntry records that an action was proposed or executed.
type IdempotencyEntry struct {
	_              struct{} `is:"strict"`
	IdempotencyKey string   `json:"idempotency_key"`
	ActionKind     string   `json:"action_kind"`
	FirstSeenAt    string   `json:"first_seen_at" is:"time"`
	LastSeenAt     string   `json:"last_seen_at" is:"time"`
	ExpiresAt      string   `json:"expires_at" is:"time"`
	Status         string   `json:"status" is:"enum=queued|executed"`
	ExecutionCount int64    `json:"execution_count" is:"default=0,min=0"`
}

// HeartbeatStats are the lifetime counters of the heartbeat.
type HeartbeatStats struct {
	_                    struct{} `is:"strict"`
	TicksTotal           int64    `json:"ticks_total" is:"default=0,min=0"`
	WorkersWokenTotal    int64    `json:"workers_woken_total" is:"default=0,min=0"`
	ReportsOKTotal       int64    `json:"reports_ok_total" is:"default=0,min=0"`
	ReportsActionsTotal  int64    `json:"reports_actions_total" is:"default=0,min=0"`
	ActionsExecutedTotal int64    `json:"actions_executed_total" is:"default=0,min=0"`
	ApprovalsQueuedTotal int64    `json:"approvals_queued_total" is:"default=0,min=0"`
	DedupedActionsTotal  int64    `json:"deduped_actions_total" is:"default=0,min=0"`
}

// Kinds of actions.
const (
	ActionLaunchJob      = "launch_job"
	ActionAddComment     = "add_comment"
	ActionNoop           = "noop"
	ActionCreateApproval = "create_approval_item"
)

// ActionBody is an executable action. Kind determines which of the fields below it apply.
type ActionBody struct {
	_               struct{} `is:"strict"`
	IdempotencyKey  string   `json:"idempotency_key"`
	Risk            string   `json:"risk" is:"enum=low|medium|high"`
	NeedsApproval   bool     `json:"needs_approval"`
	Visibility      string   `json:"visibility,omitzero" is:"optional,visibility"`
	Summary         string   `json:"summary,omitzero" is:"optional"`
	Kind            string   `json:"kind" is:"enum=launch_job|add_comment|noop|create_approval_item"`
	ProjectID       string   `json:"project_id,omitzero" is:"optional"`
	WorkerKind      string   `json:"worker_kind,omitzero" is:"optional,enum=codex|claude|gemini"`
	WorkerAgentID   string   `json:"worker_agent_id,omitzero" is:"optional"`
	Goal            string   `json:"goal,omitzero" is:"optional"`
	Constraints     []string `json:"constraints,omitzero" is:"optional"`
	Deliverables    []string `json:"deliverables,omitzero" is:"optional"`
	PermissionLevel string   `json:"permission_level,omitzero" is:"optional,enum=read-only|patch|run-commands"`
	ContextNote     string   `json:"context_note,omitzero" is:"optional"`
	TaskID          string   `json:"task_id,omitzero" is:"optional"`
	MilestoneID     string   `json:"milestone_id,omitzero" is:"optional"`
	JobKind         string   `json:"job_kind,omitzero" is:"optional,enum=execution|heartbeat"`
	TargetRole      string   `json:"target_role,omitzero" is:"optional,enum=director|worker"`

	Body             string `json:"body,omitzero" is:"optional"`
	TargetAgentID    string `json:"target_agent_id,omitzero" is:"optional"`
	TargetArtifactID string `json:"target_artifact_id,omitzero" is:"optional"`
	TargetRunID      string `json:"target_run_id,omitzero" is:"optional"`

	Reason string `json:"reason,omitzero" is:"optional"`
}

// Action is an action proposed by a worker: an executable one, or a request to approve one.
type Action struct {
	_ struct{} `is:"strict"`
	ActionBody
	Title          string      `json:"title,omitzero" is:"optional"`
	Rationale      string      `json:"rationale,omitzero" is:"optional"`
	ProposedAction *ActionBody `json:"proposed_action,omitzero" is:"optional"`
}

// WithDefaults returns the action with its defaults filled in.
func (a ActionBody) WithDefaults() ActionBody {
	if a.Kind != ActionLaunchJob {
		return a
	}
	if a.WorkerKind == "" {
		a.WorkerKind = WorkerKinds()[0]
	}
	if a.PermissionLevel == "" {
		a.PermissionLevel = "read-only"
	}
	if a.Constraints == nil {
		a.Constraints = []string{}
	}
	if a.Deliverables == nil {
		a.Deliverables = []string{}
	}
	return a
}

// WithDefaults returns the action with its defaults filled in.
func (a Action) WithDefaults() Action {
	a.ActionBody = a.ActionBody.WithDefaults()
	if a.ProposedAction != nil {
		inner := a.ProposedAction.WithDefaults()
		a.ProposedAction = &inner
	}
	return a
}

// actionField is a field that only some kinds of actions have.
type actionField struct {
	name  string
	kinds []string
	set   bool
	must  bool // required in every kind that has it
}

// fields returns the fields that only some kinds have, in the order of the struct.
func (a *ActionBody) fields() []actionField {
	job, comment, noop := []string{ActionLaunchJob}, []string{ActionAddComment}, []string{ActionNoop}
	return []actionField{
		{"project_id", []string{ActionLaunchJob, ActionAddComment, ActionCreateApproval}, a.ProjectID != "", true},
		{"worker_kind", job, a.WorkerKind != "", false},
		{"worker_agent_id", job, a.WorkerAgentID != "", false},
		{"goal", job, a.Goal != "", true},
		{"constraints", job, a.Constraints != nil, false},
		{"deliverables", job, a.Deliverables != nil, false},
		{"permission_level", job, a.PermissionLevel != "", false},
		{"context_note", job, a.ContextNote != "", false},
		{"task_id", job, a.TaskID != "", false},
		{"milestone_id", job, a.MilestoneID != "", false},
		{"job_kind", job, a.JobKind != "", false},
		{"target_role", job, a.TargetRole != "", false},
		{"body", comment, a.Body != "", true},
		{"target_agent_id", comment, a.TargetAgentID != "", false},
		{"target_artifact_id", comment, a.TargetArtifactID != "", false},
		{"target_run_id", comment, a.TargetRunID != "", false},
		{"reason", noop, a.Reason != "", true},
	}
}

// Check checks the fields of an executable action against its kind.
func (a *ActionBody) Check() []fault.Issue {
	if a.Kind == ActionCreateApproval {
		values := []string{ActionLaunchJob, ActionAddComment, ActionNoop}
		return []fault.Issue{{Path: []any{"kind"}, Code: "invalid_value", Values: values, Message: "must be one of launch_job, add_comment, noop"}}
	}
	return a.checkKind(a.fields())
}

// Check checks the fields of an action against its kind.
func (a *Action) Check() []fault.Issue {
	approval := []string{ActionCreateApproval}
	return a.checkKind(append(a.fields(),
		actionField{"title", approval, a.Title != "", true},
		actionField{"rationale", approval, a.Rationale != "", false},
		actionField{"proposed_action", approval, a.ProposedAction != nil, false}))
}

// checkKind reports missing fields of the action's kind, and fields that belong to other
// kinds.
func (a *ActionBody) checkKind(fields []actionField) (issues []fault.Issue) {
	for _, f := range fields {
		own := slices.Contains(f.kinds, a.Kind)
		switch {
		case own && f.must && !f.set:
			issues = append(issues, fault.Issue{Path: []any{f.name}, Code: "invalid_type", Expected: "string", Message: "expected string, got nothing"})
		case !own && f.set:
			issues = append(issues, fault.Issue{Path: []any{f.name}, Code: "unrecognized_keys", Keys: []string{f.name}, Message: "does not belong to " + a.Kind})
		}
	}
	if a.Kind == ActionAddComment && a.TargetAgentID == "" && a.TargetArtifactID == "" && a.TargetRunID == "" {
		why := "one of target_agent_id, target_artifact_id and target_run_id is required"
		issues = append(issues, fault.Issue{Path: []any{"target_agent_id"}, Code: "custom", Message: why})
	}
	return issues
}

// HeartbeatProposal is the front matter of a heartbeat_action_proposal.
type HeartbeatProposal struct {
	_ struct{} `is:"strict"`
	Artifact
	ProjectID      string `json:"project_id"`
	ProposedAction Action `json:"proposed_action"`
	Rationale      string `json:"rationale,omitzero" is:"optional"`
}

// Check requires the type heartbeat_action_proposal.
func (p *HeartbeatProposal) Check() []fault.Issue {
	return checkType(p.Type, "heartbeat_action_proposal")
}

// The codecs of the heartbeat's documents.
var (
	HeartbeatConfigCodec   = yamldoc.For[HeartbeatConfig]()
	HeartbeatStateCodec    = yamldoc.For[HeartbeatState]()
	HeartbeatCursorsCodec  = yamldoc.For[HeartbeatCursors]()
	HeartbeatProposalCodec = yamldoc.For[HeartbeatProposal]()
	ActionCodec            = yamldoc.For[Action]()
)
