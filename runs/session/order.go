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

// OrderVersion is the version of the order that a supervisor takes.
const OrderVersion = 1

// Order is everything a supervisor needs to know. It travels as one JSON value
// on its standard input: never on a command line, never in a file.
type Order struct {
	Version       int               `json:"version"`
	WorkspaceDir  string            `json:"workspace_dir"` // absolute
	ProjectID     string            `json:"project_id"`
	RunID         string            `json:"run_id"`
	SessionRef    string            `json:"session_ref"`
	AgentID       string            `json:"agent_id"`
	Provider      string            `json:"provider"`
	Argv          []string          `json:"argv"`
	Made          bool              `json:"made,omitempty"`  // ac made its words, with marks for the folders of the machine that executes them
	Bring         []string          `json:"bring,omitempty"` // files of the run's outputs that the agent gets on another machine
	RepoID        string            `json:"repo_id,omitempty"`
	WorkdirRel    string            `json:"workdir_rel,omitempty"`
	TaskID        string            `json:"task_id,omitempty"`
	WorkflowRunID string            `json:"workflow_run_id,omitempty"` // that this run is an attempt for
	MilestoneID   string            `json:"milestone_id,omitempty"`
	Worktree      *Worktree         `json:"worktree,omitempty"` // of its repository, whatever its task says
	InPlace       bool              `json:"in_place,omitempty"` // in its repository itself, whatever its task says
	Away          *Away             `json:"away,omitempty"`     // of a session for another machine
	New           *NewRun           `json:"new,omitempty"`      // the run is made with the session
	Budget        *doc.Budget       `json:"budget,omitempty"`
	Stdin         *string           `json:"stdin,omitempty"`
	Live          *LiveOrder        `json:"live,omitempty"` // of an agent that is spoken with
	Env           map[string]string `json:"env,omitempty"`  // what the caller added
	ModelProfile  string            `json:"model_profile,omitempty"`
	Environ       []string          `json:"environ,omitempty"`  // what the provider gets below that
	MonotonicMS   int64             `json:"monotonic_ms"`       // count of the launching process
	LimitMS       int64             `json:"limit_ms,omitempty"` // how long it may run, 0 for any time
	Limits        *LimitsRequest    `json:"limits,omitempty"`   // what it may spend while nobody can be asked
}

// Check refuses what the record of the run could not hold.
func (o Order) Check() error {
	if o.Live != nil {
		if strings.TrimSpace(o.Live.Prompt) == "" && !o.Live.KeepOpen && !o.Live.Waits {
			return fault.InvalidField("prompt_text", "must not be blank")
		}
		return nil // its words are made when it is prepared
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

// Continues reports whether the run was over, and goes on.
func (o Order) Continues() bool { return o.Live != nil && o.Live.Continue }

// PerTurn reports whether the agent is a command: a process for each turn.
func (o Order) PerTurn() bool { return o.Live != nil && o.Live.Driver == DriverCommand }

// Limit is how long the provider may run, 0 for any time.
func (o Order) Limit() time.Duration { return time.Duration(o.LimitMS) * time.Millisecond }

// Mode is how the order is executed.
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

// LiveOrder is what an order says of a session whose agent is spoken with.
type LiveOrder struct {
	Driver string `json:"driver"`
	// Template is the agent's own command line, of one that is a command.
	Template []string `json:"template,omitempty"`
	Prompt   string   `json:"prompt,omitempty"`
	Model    string   `json:"model,omitempty"`
	Version  string   `json:"version"` // of this program, which it introduces itself with
	// Files serves the agent files to read where its level bears no commands.
	Files        provider.CodexFiles `json:"files,omitempty"`
	Policy       doc.RunPolicy       `json:"policy"`
	Interactive  bool                `json:"interactive,omitempty"`
	KeepOpen     bool                `json:"keep_open,omitempty"`
	IdleMS       int64               `json:"idle_timeout_ms,omitempty"`
	PermissionMS int64               `json:"permission_timeout_ms,omitempty"`
	QuestionMS   int64               `json:"question_timeout_ms,omitempty"`
	MCP          bool                `json:"mcp,omitempty"`             // the agent has ac's own tools
	LaunchJobs   bool                `json:"mcp_launch_jobs,omitempty"` // and may launch jobs by them
	// Workflow is the step that the session is an attempt of; what it asks names it.
	Workflow *interaction.Workflow `json:"workflow,omitempty"`
	// ActorID says the prompt, ClientMessageID is what its client calls it.
	ActorID         string `json:"actor_id,omitempty"`
	ClientMessageID string `json:"client_message_id,omitempty"`
	Display
	// Continue: the run was over, and goes on. WorktreeRel and WorktreeBranch are those
	// that it had. A Fresh one enters its repository as a launch does.
	Continue       bool   `json:"continue,omitempty"`
	Fresh          bool   `json:"fresh,omitempty"` // it ended before anything was executed
	WorktreeRel    string `json:"worktree_relpath,omitempty"`
	WorktreeBranch string `json:"worktree_branch,omitempty"`

	Cause string `json:"cause,omitempty"` // of the first turn
	Turns int    `json:"turns,omitempty"` // of the run before this session
	// Thread is the conversation to go on with, Baseline what it had used before.
	Thread     string              `json:"thread,omitempty"`
	MustResume bool                `json:"must_resume,omitempty"`
	Baseline   *doc.ThreadBaseline `json:"baseline,omitempty"`
	// Lead goes before the first prompt where the conversation is a new one; Digest
	// is the file that has it.
	Lead   string `json:"lead,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Waits: texts wait for the session in the log of its run.
	Waits bool `json:"waits,omitempty"`
}

// Asked reports whether somebody, or a rule, answers what the agent asks.
func (l *LiveOrder) Asked() bool { return l.Interactive || len(l.Policy.Rules) > 0 }

// WaitingText is a text that waits for a session.
type WaitingText struct {
	SteerEvent
	Full  string // the text as a whole
	Actor string
}

// PhaseLine is a line of a supervisor to the process that launched it.
type PhaseLine struct {
	Phase   string `json:"phase"` // accepted, running, terminal or refused
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Phases of a launch, as the supervisor tells them.
const (
	PhaseAccepted = "accepted"
	PhaseRunning  = "running"
	PhaseTerminal = "terminal"
	PhaseRefused  = "refused"
)

// Subject is the run as budgets see it.
func (o Order) Subject() budget.Subject {
	return budget.Subject{Project: o.ProjectID, Task: o.TaskID, Workflow: o.WorkflowRunID, Run: o.RunID}
}

// Permitted refuses a session whose worker has given it up.
func (o Order) Permitted(w *workspace.Workspace) error {
	if o.Away == nil || w.Exists(o.Away.Permit) {
		return nil
	}
	return fault.New(fault.Conflict, "session %s was given up before it started", o.SessionRef)
}

// OverLimit begins the error of a session that ran longer than it may.
const OverLimit = "it ran longer than its limit"

// Worktree says which worktree of its repository a session works in.
type Worktree struct {
	// Owner and Run name it, and its branch: a task, a job or a run of a workflow,
	// and the run that it is made for.
	Owner string `json:"owner"`
	Run   string `json:"run"`
	// Base is the commit that it is made from. Snapshot says that this one holds
	// what was not committed.
	Base     string `json:"base"`
	Snapshot bool   `json:"snapshot,omitempty"`
	// From is the commit that it is made anew from, of a run that goes on and has none
	// here; "" for one that is made the first time.
	From string `json:"from,omitempty"`
	// Exists says that the worktree was made before.
	Exists bool `json:"exists,omitempty"`
}
