// Package fault is the one error type that crosses packages and reaches
// callers: a machine-readable reason, a sentence for people, and, for refused
// parameters, one issue for each bad field.
//
// Invariants: a Reason never changes once released, because clients match on
// it; a Message never contains a secret or a stack trace.
package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Reason is the machine-readable reason of an error: data.reason of a JSON-RPC
// application error.
type Reason string

// The reasons. New ones may be added; none is renamed.
const (
	NotFound       Reason = "not_found"
	Denied         Reason = "denied"
	Conflict       Reason = "conflict"
	Incomplete     Reason = "incomplete"
	InvalidFile    Reason = "invalid_file"
	Blank          Reason = "blank" // a text of nothing but white space
	InvalidParams  Reason = "invalid_params"
	NotAWorkspace  Reason = "not_a_workspace"
	NotEmpty       Reason = "not_empty"
	Unfilled       Reason = "unfilled"
	Locked         Reason = "locked"
	IO             Reason = "io"
	Unsupported    Reason = "unsupported"
	BudgetExceeded Reason = "budget_exceeded"
	ShuttingDown   Reason = "shutting_down"
	TooManyWaiting Reason = "too_many_waiting"
	Canceled       Reason = "canceled"
	PreviewChanged Reason = "preview_changed"
	NoIndex        Reason = "no_index"
	// SecretDetected refuses a text that seems to contain a secret,
	// ApprovalRequired an action that needs an approval first.
	SecretDetected   Reason = "secret_detected"
	ApprovalRequired Reason = "approval_required"
	RunBusy          Reason = "run_busy"
	// PlaceNotFound refuses a job for the worktree of a run that has none, or is at
	// work in it. RunExists refuses a run_id that is taken.
	PlaceNotFound Reason = "place_not_found"
	RunExists     Reason = "run_exists"
	Internal      Reason = "internal"
	// CursorAhead refuses a place behind the end of a log.
	CursorAhead Reason = "cursor_ahead"
	// Why a run cannot go on.
	RunNotResumable Reason = "run_not_resumable"
	RunOwnedByJob   Reason = "run_owned_by_job"
	WorktreeGone    Reason = "worktree_gone"
	// ExceedsPermissionLevel refuses a level, or a mode, above what is granted,
	// ActorNotAllowed somebody who may not decide this, whatever the role.
	ExceedsPermissionLevel Reason = "exceeds_permission_level"
	ActorNotAllowed        Reason = "actor_not_allowed"
	// Of live sessions.
	RunNotLive              Reason = "run_not_live"
	RunNotSteerable         Reason = "run_not_steerable"
	NoActiveTurn            Reason = "no_active_turn"
	TurnMismatch            Reason = "turn_mismatch"
	SteerQueueFull          Reason = "steer_queue_full"
	InteractionNotFound     Reason = "interaction_not_found"
	InteractionClosed       Reason = "interaction_closed"
	InteractionKindMismatch Reason = "interaction_kind_mismatch"
	NoAgentCommand          Reason = "no_agent_command"
	ResumeFailed            Reason = "resume_failed"
	TooLarge                Reason = "too_large"
	SupervisorUnreachable   Reason = "supervisor_unreachable"
	// HubNotRunning: what is asked for happens on another machine, and the process that
	// speaks with it does not run.
	HubNotRunning Reason = "hub_not_running"
	// Calls of the tools that agents have are refused with these.
	RateLimited    Reason = "rate_limited"
	TooManyOpen    Reason = "too_many_open"
	NotInteractive Reason = "not_interactive"
	// Reasons of proposed files.
	NoTarget        Reason = "no_target"
	TargetAmbiguous Reason = "target_ambiguous"
	TargetBusy      Reason = "target_busy"
	PreviewGone     Reason = "preview_gone"
	FilesRefused    Reason = "files_refused"
	WriteFailed     Reason = "write_failed"
	RevertedAlready Reason = "reverted_already"
	NoWorktree      Reason = "no_worktree"
	GitFailed       Reason = "git_failed"
	// Why the work of a run cannot become a commit: others changed the same lines, or it
	// holds what a person did not commit.
	Conflicts    Reason = "conflicts"
	SnapshotBase Reason = "snapshot_base"
	// Of starting runs.
	ProgramMissing   Reason = "program_missing"
	PlaceUnavailable Reason = "place_unavailable"
	BudgetRefused    Reason = "budget_refused"
	PlanChanged      Reason = "plan_changed"
	NeverRan         Reason = "never_ran"
	PromptMasked     Reason = "prompt_masked"
	// Of the control room: it starts nothing, and serves another user's acts to nobody.
	LaunchNotAllowed Reason = "launch_not_allowed"
	OtherUser        Reason = "other_user"
	// Of a search: a filter that is none.
	BadQuery Reason = "bad_query"
	// Of needs and help requests: one that is over, one that only a decision ends, and
	// a text that changed since it was read.
	Settled        Reason = "settled"
	NotDismissible Reason = "not_dismissible"
	Changed        Reason = "changed"
	// Of MCP servers and model profiles: a record that no agent could be told of, one that
	// is not there, an address that cannot be one, and a variable that is not set.
	MCPInvalid  Reason = "mcp_invalid"
	MCPNotFound Reason = "mcp_not_found"
	InvalidURL  Reason = "invalid_url"
	EnvMissing  Reason = "env_missing"
	// Of model profiles alone.
	ProfileExists   Reason = "profile_exists"
	ProfileNotFound Reason = "profile_not_found"
	ProfileInUse    Reason = "profile_in_use"
	InvalidHeader   Reason = "invalid_header"
	HostNotAllowed  Reason = "host_not_allowed"
	ProbeFailed     Reason = "probe_failed"
	ProbeHTTPError  Reason = "probe_http_error"
	ProbeBadJSON    Reason = "probe_bad_json"
	// Of consoles.
	TerminalDisabled    Reason = "terminal_disabled"
	TerminalUnavailable Reason = "terminal_unavailable"
	TerminalNotFound    Reason = "terminal_not_found"
	TerminalLimit       Reason = "terminal_limit"
	TerminalExited      Reason = "terminal_exited"
	TerminalStalled     Reason = "terminal_stalled"
	TerminalViewers     Reason = "terminal_viewers"
	ShellNotAllowed     Reason = "shell_not_allowed"
	ShellUnavailable    Reason = "shell_unavailable"
	PathOutsideRoot     Reason = "path_outside_root"
	NotADirectory       Reason = "not_a_directory"
)

// Issue is what is wrong with one field. Path holds keys (string) and indexes
// (int) from the root of the checked value.
type Issue struct {
	Path      []any    `json:"path"`
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	Expected  string   `json:"expected,omitempty"`
	Minimum   *float64 `json:"minimum,omitempty"`
	Maximum   *float64 `json:"maximum,omitempty"`
	Inclusive *bool    `json:"inclusive,omitempty"`
	Values    []string `json:"values,omitempty"`
	Keys      []string `json:"keys,omitempty"`
}

// Field renders the path of the issue for people: repos[1].label.
func (i Issue) Field() string {
	var b strings.Builder
	for _, step := range i.Path {
		switch s := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// Error is the error type of ac. It wraps its cause for errors.Is and
// errors.As.
type Error struct {
	Reason  Reason
	Message string
	Issues  []Issue
	Cause   error
	// Data is nil, or a struct or pointer to one whose members stand in data beside
	// the reason.
	Data any
}

// With adds the members that stand beside the reason.
func (e *Error) With(data any) *Error {
	e.Data = data
	return e
}

// SecretReport is the data of SecretDetected: it counts the secrets in a refused
// text. It does not contain the text.
type SecretReport struct {
	ReasonCode    string         `json:"reason_code"`
	ContextLabel  string         `json:"context_label"`
	TotalMatches  int            `json:"total_matches"`
	MatchesByKind map[string]int `json:"matches_by_kind"`
}

func (e *Error) Error() string { return e.Message }

// InFull is the message with every issue, for the author of the parameters.
func (e *Error) InFull() string {
	issues := make([]string, len(e.Issues))
	for i, issue := range e.Issues {
		issues[i] = strings.TrimPrefix(issue.Field()+": "+issue.Message, ": ")
	}
	if len(issues) == 0 {
		return e.Message
	}
	return e.Message + ": " + strings.Join(issues, "; ")
}

// Unwrap returns the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.Cause }

// New makes an error from a reason and a sentence. A %w in the format sets the
// cause.
func New(reason Reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Reason: reason, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// Invalid makes the error for invalid parameters from at least one issue.
func Invalid(issues ...Issue) *Error {
	return &Error{Reason: InvalidParams, Message: "Invalid params", Issues: issues}
}

// InvalidField makes the error for one invalid top-level parameter.
func InvalidField(field, format string, args ...any) *Error {
	return Invalid(Issue{Path: []any{field}, Code: "custom", Message: fmt.Sprintf(format, args...)})
}

// ReasonOf classifies any error: the reason of the outermost *Error in its
// chain, IO for file-system failures, Internal for the rest.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return IO
	}
	return Internal
}

// Is reports whether err carries the given reason.
func Is(err error, reason Reason) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Reason == reason
}
