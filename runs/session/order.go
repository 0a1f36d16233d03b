package session

import (
	"strings"
	"time"

	"ac/internal/fault"
	"ac/workspace/doc"
)

// OrderVersion is the version of the order that a supervisor takes.
const OrderVersion = 1

// Order is everything a supervisor needs to know. It travels as one JSON value
// on its standard input: never on a command line, never in a file.
type Order struct {
	Version      int               `json:"version"`
	WorkspaceDir string            `json:"workspace_dir"` // absolute
	ProjectID    string            `json:"project_id"`
	RunID        string            `json:"run_id"`
	SessionRef   string            `json:"session_ref"`
	AgentID      string            `json:"agent_id"`
	Provider     string            `json:"provider"`
	Argv         []string          `json:"argv"`
	RepoID       string            `json:"repo_id,omitempty"`
	WorkdirRel   string            `json:"workdir_rel,omitempty"`
	TaskID       string            `json:"task_id,omitempty"`
	MilestoneID  string            `json:"milestone_id,omitempty"`
	Worktree     *Worktree         `json:"worktree,omitempty"` // of its repository, whatever its task says
	Budget       *doc.Budget       `json:"budget,omitempty"`
	Stdin        *string           `json:"stdin,omitempty"`
	Turn         *Turn             `json:"turn,omitempty"`     // of an app server, instead of argv
	Env          map[string]string `json:"env,omitempty"`      // what the caller added
	Environ      []string          `json:"environ,omitempty"`  // what the provider gets below that
	MonotonicMS  int64             `json:"monotonic_ms"`       // count of the launching process
	LimitMS      int64             `json:"limit_ms,omitempty"` // how long it may run, 0 for any time
}

// check refuses what the record of the run could not hold.
func (o Order) check() error {
	if o.Turn != nil {
		if strings.TrimSpace(o.Turn.Prompt) == "" {
			return fault.InvalidField("prompt_text", "must not be blank")
		}
		return nil
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

// limit is how long the provider may run, 0 for any time.
func (o Order) limit() time.Duration { return time.Duration(o.LimitMS) * time.Millisecond }

// mode is how the order is executed.
func (o Order) mode() string {
	if o.Turn != nil {
		return doc.KindAppServer
	}
	return doc.KindCommand
}

// ready is a line of a supervisor to the process that launched it.
type ready struct {
	Phase   string `json:"phase"` // accepted, running, terminal or refused
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Phases of a launch, as the supervisor tells them.
const (
	phaseAccepted = "accepted"
	phaseRunning  = "running"
	phaseTerminal = "terminal"
	phaseRefused  = "refused"
)
