package session

import (
	"strings"
	"time"

	"ac/internal/fault"
	"ac/runs/budget"
	"ac/runs/interaction"
	"ac/runs/provider"
	"ac/workspace"
	"ac/workspace/doc"
)

// OrderVersion is the order version that a supervisor accepts.
const OrderVersion = 1

// Order is everything that a supervisor needs to know. It is passed as one JSON value on standard
// input, never on a command line or in a file.
type Order struct {
	Version       int               `json:"version"`
	WorkspaceDir  string            `json:"workspace_dir"` // absolute
	ProjectID     string            `json:"project_id"`
	RunID         string            `json:"run_id"`
	SessionRef    string            `json:"session_ref"`
	AgentID       string            `json:"agent_id"`
	Provider      string            `json:"provider"`
	Argv          []string          `json:"argv"`
	ArgvHasMarks  bool              `json:"made,omitempty"`  // ac built Argv, with marks for folders of the executing machine
	Bring         []string          `json:"bring,omitempty"` // output files of the run that are copied to another machine for the agent
	RepoID        string            `json:"repo_id,omitempty"`
	WorkdirRel    string            `json:"workdir_rel,omitempty"`
	TaskID        string            `json:"task_id,omitempty"`
	WorkflowRunID string            `json:"workflow_run_id,omitempty"` // the workflow run that this run is an attempt for
	MilestoneID   string            `json:"milestone_id,omitempty"`
	Worktree      *Worktree         `json:"worktree,omitempty"` // to use, overriding the task's setting
	InPlace       bool              `json:"in_place,omitempty"` // use the repository itself, overriding the task's setting
	Worker        *WorkerOrder      `json:"away,omitempty"`     // set for a session on behalf of another machine
	New           *NewRun           `json:"new,omitempty"`      // the run is created with the session
	Budget        *doc.Budget       `json:"budget,omitempty"`
	Stdin         *string           `json:"stdin,omitempty"`
	Live          *LiveOrder        `json:"live,omitempty"` // set for a live session
	Env           map[string]string `json:"env,omitempty"`  // variables set by the caller
	ModelProfile  string            `json:"model_profile,omitempty"`
	Environ       []string          `json:"environ,omitempty"`  // the provider's base environment
	MonotonicMS   int64             `json:"monotonic_ms"`       // monotonic clock of the launching process
	LimitMS       int64             `json:"limit_ms,omitempty"` // how long the session may run, 0 for no limit
	Limits        *LimitsRequest    `json:"limits,omitempty"`   // what it may spend while the hub is unreachable
}

// Check rejects an order that the run's record could not hold.
func (o Order) Check() error {
	if o.Live != nil {
		if strings.TrimSpace(o.Live.Prompt) == "" && !o.Live.KeepOpen && !o.Live.HasWaitingTexts {
			return fault.InvalidField("prompt_text", "must not be blank")
		}
		return nil // the command line is built later
	}
	if len(o.Argv) == 0 {
		return fault.InvalidField("argv", "must have at least one item")
	}
	if o.Argv[0] == "" {
		return fault.InvalidField("argv", "must begin with a program")
	}
	for _, word := range o.Argv {
		if strings.ContainsRune(word, 0) {
			return fault.InvalidField("argv", "must not contain NUL")
		}
	}
	return nil
}

// Continues reports whether the order continues a run that was over.
func (o Order) Continues() bool { return o.Live != nil && o.Live.Continue }

// PerTurn reports whether the agent runs one process for each turn.
func (o Order) PerTurn() bool { return o.Live != nil && o.Live.Driver == DriverCommand }

// Limit returns how long the session may run, over all of its processes, 0 for no limit.
func (o Order) Limit() time.Duration { return time.Duration(o.LimitMS) * time.Millisecond }

// Mode returns the kind of execution.
func (o Order) Mode() string {
	if o.Live != nil && o.Live.Driver == DriverCodex {
		return doc.KindAppServer
	}
	return doc.KindCommand
}

// Drivers of sessions, as params and records name them.
const (
	DriverCommand = doc.LiveCommand
	DriverCodex   = doc.LiveCodex
	DriverClaude  = doc.LiveClaude
	DriverACP     = doc.LiveACP
)

// LiveOrder is the part of an order for a live session.
type LiveOrder struct {
	Driver string `json:"driver"`
	// Template is the command line of a per-turn agent.
	Template []string `json:"template,omitempty"`
	Prompt   string   `json:"prompt,omitempty"`
	Model    string   `json:"model,omitempty"`
	Version  string   `json:"version"` // of this program, sent to the agent in the handshake
	// Files serves files to an agent whose permission level allows no commands.
	Files        provider.CodexFiles `json:"files,omitempty"`
	Policy       doc.RunPolicy       `json:"policy"`
	Interactive  bool                `json:"interactive,omitempty"`
	KeepOpen     bool                `json:"keep_open,omitempty"`
	IdleMS       int64               `json:"idle_timeout_ms,omitempty"`
	PermissionMS int64               `json:"permission_timeout_ms,omitempty"`
	QuestionMS   int64               `json:"question_timeout_ms,omitempty"`
	MCP          bool                `json:"mcp,omitempty"`             // the agent has ac's own tools
	LaunchJobs   bool                `json:"mcp_launch_jobs,omitempty"` // may launch jobs with ac's tools
	// Workflow is the step that the session is an attempt of. Its interactions refer to it.
	Workflow *interaction.Workflow `json:"workflow,omitempty"`
	// ActorID is the author of the prompt. ClientMessageID is the client's id of the prompt.
	ActorID         string `json:"actor_id,omitempty"`
	ClientMessageID string `json:"client_message_id,omitempty"`
	Display
	// Continue means that the run was over and continues. WorktreeRel and WorktreeBranch are its
	// earlier worktree. A Fresh session enters its repository like a launch.
	Continue       bool   `json:"continue,omitempty"`
	Fresh          bool   `json:"fresh,omitempty"` // the run ended before anything was executed
	WorktreeRel    string `json:"worktree_relpath,omitempty"`
	WorktreeBranch string `json:"worktree_branch,omitempty"`

	Cause string `json:"cause,omitempty"` // of the first turn
	Turns int    `json:"turns,omitempty"` // turns of the run before this session
	// Thread is the conversation to resume, Baseline what it had used before.
	Thread     string              `json:"thread,omitempty"`
	MustResume bool                `json:"must_resume,omitempty"`
	Baseline   *doc.ThreadBaseline `json:"baseline,omitempty"`
	// Preamble precedes the first prompt of a new conversation. Digest is the file that holds it.
	Preamble string `json:"lead,omitempty"`
	Digest   string `json:"digest,omitempty"`
	// HasWaitingTexts means that texts wait for the session in its run's log.
	HasWaitingTexts bool `json:"waits,omitempty"`
}

// HasApprover reports whether a person or a rule answers the agent's requests.
func (l *LiveOrder) HasApprover() bool { return l.Interactive || len(l.Policy.Rules) > 0 }

// WaitingText is a text that waits for a session.
type WaitingText struct {
	SteerEvent
	Full  string // the full text
	Actor string
}

// PhaseLine is a line from a supervisor to the process that launched it.
type PhaseLine struct {
	Phase   string `json:"phase"` // accepted, running, terminal or refused
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Phases of a launch.
const (
	PhaseAccepted = "accepted"
	PhaseRunning  = "running"
	PhaseTerminal = "terminal"
	PhaseRefused  = "refused"
)

// Subject returns the run as seen by budgets.
func (o Order) Subject() budget.Subject {
	return budget.Subject{Project: o.ProjectID, Task: o.TaskID, Workflow: o.WorkflowRunID, Run: o.RunID}
}

// CheckPermit returns an error if the worker has given up the session.
func (o Order) CheckPermit(w *workspace.Workspace) error {
	if o.Worker == nil || w.Exists(o.Worker.Permit) {
		return nil
	}
	return fault.New(fault.Conflict, "session %s was given up before it started", o.SessionRef)
}

// OverLimit begins the error of a session that exceeded its time limit.
const OverLimit = "it ran longer than its limit"

// Worktree selects the worktree that a session works in.
type Worktree struct {
	// Owner and Run determine its name and branch. Owner is a task, a job or a workflow run, and
	// Run is the run that it was created for.
	Owner string `json:"owner"`
	Run   string `json:"run"`
	// Base is the commit that it is created from. Snapshot means that this commit contains
	// changes that were not committed.
	Base     string `json:"base"`
	Snapshot bool   `json:"snapshot,omitempty"`
	// From is the commit to recreate it from, for a continued run without a worktree here; "" for
	// a first creation.
	From string `json:"from,omitempty"`
	// Exists means that the worktree was created before.
	Exists bool `json:"exists,omitempty"`
}
