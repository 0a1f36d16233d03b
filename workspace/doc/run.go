package doc

// The documents of a run: its record, its context pack, its sessions.

import (
	"ac/events"
	"ac/internal/fault"
	"ac/internal/yamldoc"
)

// Statuses of runs and sessions.
const (
	StatusRunning = "running"
	StatusEnded   = "ended"
	StatusFailed  = "failed"
	StatusStopped = "stopped"
)

// Kinds of execution, in specs and session records.
const (
	KindCommand   = "command"
	KindAppServer = "codex_app_server"
)

// Run is work/projects/<project>/runs/<id>/run.yaml.
type Run struct {
	SchemaVersion int                `json:"schema_version" is:"min=1"`
	Type          string             `json:"type" is:"enum=run"`
	ID            string             `json:"id"`
	ProjectID     string             `json:"project_id"`
	AgentID       string             `json:"agent_id"`
	Provider      string             `json:"provider"`
	CreatedAt     string             `json:"created_at" is:"time"`
	Status        string             `json:"status" is:"enum=running|ended|failed|stopped"`
	ContextPackID string             `json:"context_pack_id"`
	EventsRelpath string             `json:"events_relpath"`
	EndedAt       string             `json:"ended_at" is:"optional,time"`
	Usage         *Usage             `json:"usage" is:"optional"`
	ContextCycles *ContextCycles     `json:"context_cycles" is:"optional"`
	Spec          *Spec              `json:"spec" is:"optional"`
	Log           *events.Checkpoint `json:"log" is:"optional"`
	// ProviderSessionID is the agent's own id of its conversation. Error and ErrorKind
	// explain why the run failed, in the agent's words.
	ProviderSessionID string `json:"provider_session_id" is:"optional"`
	Error             string `json:"error" is:"optional"`
	ErrorKind         string `json:"error_kind" is:"optional"`
	// Live is set once a live session was accepted or the run's policy was set.
	Live *Live `json:"live" is:"optional"`
	// Title is the name given at creation. StartKey is the client's id of the request that
	// created the run.
	Title string `json:"title" is:"optional"`
	// ModelProfile is the model profile of the newest session.
	ModelProfile string `json:"model_profile" is:"optional"`
	StartKey     string `json:"start_key" is:"optional"`
	// ProgramVersion is the version of the agent's program, if known without running it.
	ProgramVersion string `json:"program_version" is:"optional"`
	// WorktreeBase is the commit from which the run's worktree was made. WorktreeSnapshot is
	// set if the worktree also contains the repository's uncommitted changes.
	WorktreeBase     string `json:"worktree_base" is:"optional"`
	WorktreeSnapshot bool   `json:"worktree_snapshot" is:"optional"`
	// WorktreeRepoID, WorktreeRel and WorktreeBranch belong to a workflow's run. It has no
	// spec, and its tasks share its worktree. Tree reads these fields.
	WorktreeRepoID string `json:"worktree_repo_id" is:"optional"`
	WorktreeRel    string `json:"worktree_relpath" is:"optional"`
	WorktreeBranch string `json:"worktree_branch" is:"optional"`
	// Budget is the budget of a workflow's run, for all attempts of its steps together.
	Budget *Budget `json:"budget" is:"optional"`
	// Placement is the requested placement of its sessions, nil for this machine.
	Placement *Placement `json:"placement" is:"optional"`
	// Landed is the commit that landed the run's work.
	Landed *Landed `json:"landed" is:"optional"`
	// LogIntegrity is set if events were removed from the log during the run.
	LogIntegrity *events.Integrity `json:"log_integrity" is:"optional"`
}

// Tree returns the git worktree of a run: its repository, its path in the workspace and its
// branch. All are "" for a run without one.
func (r Run) Tree() (repo, rel, branch string) {
	if r.Spec != nil {
		return r.Spec.RepoID, r.Spec.WorktreeRel, r.Spec.WorktreeBranch
	}
	return r.WorktreeRepoID, r.WorktreeRel, r.WorktreeBranch
}

// Landed is the commit that put a run's work on a branch.
type Landed struct {
	RepoID  string `json:"repo_id"`
	Branch  string `json:"branch"`
	Commit  string `json:"commit"`
	Base    string `json:"base"` // the parent commit
	Files   int    `json:"files"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Actor   string `json:"actor"`
	At      string `json:"at" is:"optional,time"`
}

// Terminal reports whether a status is final.
func Terminal(status string) bool { return status != StatusRunning }

// Usage records what a run consumed.
type Usage struct {
	_                     struct{} `is:"strict"`
	Source                string   `json:"source" is:"enum=provider_reported|estimated_chars"`
	Confidence            string   `json:"confidence" is:"enum=high|low"`
	EstimateMethod        string   `json:"estimate_method,omitempty" is:"optional"`
	Provider              string   `json:"provider,omitempty" is:"optional"`
	InputTokens           *int64   `json:"input_tokens,omitempty" is:"optional,min=0"`
	CachedInputTokens     *int64   `json:"cached_input_tokens,omitempty" is:"optional,min=0"`
	OutputTokens          *int64   `json:"output_tokens,omitempty" is:"optional,min=0"`
	ReasoningOutputTokens *int64   `json:"reasoning_output_tokens,omitempty" is:"optional,min=0"`
	TotalTokens           int64    `json:"total_tokens" is:"min=0"`
	CapturedFromEventType string   `json:"captured_from_event_type,omitempty" is:"optional"`
	CostUSD               *float64 `json:"cost_usd,omitempty" is:"optional,min=0"`
	CostCurrency          string   `json:"cost_currency,omitempty" is:"optional,enum=USD"`
	CostSource            string   `json:"cost_source,omitempty" is:"optional,enum=provider_rate_card|provider_reported|no_rate_card"`
	CostRateCardProvider  string   `json:"cost_rate_card_provider,omitempty" is:"optional"`
}

// ContextCycles counts how often a provider compacted its context.
type ContextCycles struct {
	_           struct{} `is:"strict"`
	Count       int64    `json:"count" is:"min=0"`
	Source      string   `json:"source" is:"enum=provider_signal|unavailable"`
	SignalTypes []string `json:"signal_types" is:"optional"`
}

// Spec records what was executed. Kind determines which fields are required.
type Spec struct {
	_              struct{}          `is:"strict"`
	Kind           string            `json:"kind" is:"enum=command|codex_app_server"`
	Argv           []string          `json:"argv" is:"optional,empty"`
	PromptRelpath  string            `json:"prompt_relpath" is:"optional"`
	Model          string            `json:"model" is:"optional"`
	RepoID         string            `json:"repo_id" is:"optional"`
	WorkdirRel     string            `json:"workdir_rel" is:"optional"`
	TaskID         string            `json:"task_id" is:"optional"`
	MilestoneID    string            `json:"milestone_id" is:"optional"`
	WorktreeRel    string            `json:"worktree_relpath" is:"optional"`
	WorktreeBranch string            `json:"worktree_branch" is:"optional"`
	Budget         *Budget           `json:"budget" is:"optional"`
	Env            map[string]string `json:"env" is:"optional,empty"`
	StdinRelpath   string            `json:"stdin_relpath" is:"optional"`
	ThreadID       string            `json:"thread_id" is:"optional"`
	TurnID         string            `json:"turn_id" is:"optional"`
}

// Check checks the fields against the kind.
func (s *Spec) Check() (issues []fault.Issue) {
	refuse := func(field, why string) {
		issues = append(issues, fault.Issue{Path: []any{field}, Code: "custom", Message: why})
	}
	if s.Kind == KindCommand {
		if len(s.Argv) == 0 || s.Argv[0] == "" {
			refuse("argv", "must begin with a program")
		}
		if s.PromptRelpath != "" || s.Model != "" || s.ThreadID != "" || s.TurnID != "" {
			refuse("kind", "prompt_relpath, model, thread_id and turn_id belong to codex_app_server")
		}
		return issues
	}
	if s.PromptRelpath == "" {
		refuse("prompt_relpath", "expected string, got nothing")
	}
	if s.Argv != nil || s.Env != nil || s.StdinRelpath != "" {
		refuse("kind", "argv, env and stdin_relpath belong to command")
	}
	return issues
}

// ContextPack is context_packs/<id>/manifest.yaml.
type ContextPack struct {
	_             struct{}      `is:"strict"`
	SchemaVersion int           `json:"schema_version" is:"min=1"`
	Type          string        `json:"type" is:"enum=context_pack_manifest"`
	ID            string        `json:"id"`
	CreatedAt     string        `json:"created_at" is:"time"`
	RunID         string        `json:"run_id"`
	ProjectID     string        `json:"project_id"`
	AgentID       string        `json:"agent_id"`
	RepoSnapshot  *RepoSnapshot `json:"repo_snapshot" is:"optional"`
	IncludedDocs  []IncludedDoc `json:"included_docs"`
	ToolAllowlist []string      `json:"tool_allowlist"`
}

// RepoSnapshot is the state of a repository at launch.
type RepoSnapshot struct {
	_                    struct{} `is:"strict"`
	RepoID               string   `json:"repo_id"`
	HeadSHA              string   `json:"head_sha"`
	Dirty                bool     `json:"dirty"`
	DirtyPatchArtifactID string   `json:"dirty_patch_artifact_id" is:"optional"`
}

// IncludedDoc is a document in a context pack.
type IncludedDoc struct {
	_          struct{} `is:"strict"`
	Path       string   `json:"path"`
	SHA256     string   `json:"sha256" is:"minlen=16"`
	Visibility string   `json:"visibility" is:"visibility"`
}

// PolicySnapshot is context_packs/<id>/policy_snapshot.yaml.
type PolicySnapshot struct {
	_               struct{} `is:"strict"`
	SchemaVersion   int      `json:"schema_version" is:"min=1"`
	Type            string   `json:"type" is:"enum=policy_snapshot"`
	ID              string   `json:"id"`
	CreatedAt       string   `json:"created_at" is:"time"`
	RunID           string   `json:"run_id"`
	VisibilityNotes string   `json:"visibility_notes" is:"optional"`
	ToolAllowlist   []string `json:"tool_allowlist"`
}

// Session is .local/sessions/<encoded session_ref>.yaml: one launch of a run. The owner
// fields identify the supervisor.
type Session struct {
	SchemaVersion  int     `json:"schema_version" is:"min=1"`
	Type           string  `json:"type" is:"enum=session_record"`
	Ref            string  `json:"session_ref"`
	WorkspaceDir   string  `json:"workspace_dir"`
	ProjectID      string  `json:"project_id" is:"id"`
	RunID          string  `json:"run_id" is:"id"`
	Status         string  `json:"status" is:"enum=running|ended|failed|stopped"`
	ExitCode       *int    `json:"exit_code" is:"nullable"`
	Signal         *string `json:"signal" is:"nullable"`
	Error          string  `json:"error" is:"optional"`
	StartedAtMS    int64   `json:"started_at_ms"`
	EndedAtMS      *int64  `json:"ended_at_ms" is:"optional"`
	Mode           string  `json:"mode" is:"default=command,enum=command|codex_app_server"`
	PID            *int    `json:"pid" is:"optional,gt=0"`
	PIDClaimedAtMS *int64  `json:"pid_claimed_at_ms" is:"optional"`
	StopMarker     string  `json:"stop_marker_relpath" is:"optional"`
	ThreadID       string  `json:"protocol_thread_id" is:"optional"`
	TurnID         string  `json:"protocol_turn_id" is:"optional"`
	OwnerPID       *int    `json:"owner_pid" is:"optional"`
	OwnerStart     string  `json:"owner_start" is:"optional"`
	PIDStart       string  `json:"pid_start" is:"optional"`
	Socket         string  `json:"socket" is:"optional"`
	SocketDir      string  `json:"socket_dir" is:"optional"` // the directory of the socket
	ErrorKind      string  `json:"error_kind" is:"optional"`
	RetryAfterMS   *int64  `json:"retry_after_ms" is:"optional"` // as the provider requested
	// Only for a live session: its driver, its current activity, the newest turn, and how its
	// conversation was resumed. Activity is a hint; the log is authoritative.
	Driver   string `json:"driver" is:"optional"`
	Activity string `json:"activity" is:"optional"`
	Turn     int    `json:"turn" is:"optional"`
	Resumed  string `json:"resumed" is:"optional"`
	// MCP is set if the agent has ac's own tools. MCPLaunchJobs is set if they may launch
	// jobs.
	MCP           bool   `json:"mcp" is:"optional"`
	ModelProfile  string `json:"model_profile" is:"optional"`
	MCPLaunchJobs bool   `json:"mcp_launch_jobs" is:"optional"`
	// How long the agent's permission requests and questions wait for an answer.
	PermissionTimeoutMS int64 `json:"permission_timeout_ms" is:"optional"`
	QuestionTimeoutMS   int64 `json:"question_timeout_ms" is:"optional"`
	// ResumeError explains why the conversation is a new one, Reason why the session failed.
	ResumeError string `json:"resume_error" is:"optional"`
	Reason      string `json:"reason" is:"optional"`
	// Only for a session on another machine: the worker that executes it, the number of this
	// placement, and whether the worker is reachable. The owner is then the hub. PID belongs
	// to the other machine, so nothing here may signal it.
	WorkerID           string `json:"worker_id" is:"optional"`
	Epoch              int    `json:"epoch" is:"optional,gt=0"`
	Reach              string `json:"reach" is:"optional,enum=placing|ok|unreachable|lost"`
	UnreachableSinceMS *int64 `json:"unreachable_since_ms" is:"optional"`
}

// Whether the worker of a session is reachable.
const (
	ReachPlacing     = "placing" // no worker has claimed it
	ReachOK          = "ok"
	ReachUnreachable = "unreachable" // silent for longer than usual
	ReachLost        = "lost"        // given up: its reports no longer count
)

// Remote reports whether a worker on another machine executes the session.
func (s Session) Remote() bool { return s.WorkerID != "" }

// LiveSession is what lists show of a running live session. It is empty for any other.
type LiveSession struct {
	Driver   string `json:"driver,omitempty"`
	Activity string `json:"activity,omitempty"` // starting, idle, busy, waiting_permission, …, ending
	Turn     int    `json:"turn,omitempty"`     // the newest turn, 0 before the first
}

// Live returns the driver, activity and turn of a running live session.
func (s Session) Live() LiveSession {
	if s.Driver == "" || s.Status != StatusRunning {
		return LiveSession{}
	}
	return LiveSession{s.Driver, s.Activity, s.Turn}
}

// The codecs of the documents above.
var (
	UsageCodec          = yamldoc.For[Usage]()
	RunCodec            = yamldoc.For[Run]()
	ContextPackCodec    = yamldoc.For[ContextPack]()
	PolicySnapshotCodec = yamldoc.For[PolicySnapshot]()
	SessionCodec        = yamldoc.For[Session]()
)
