// Package fault is the error type that crosses packages and reaches callers: a machine-readable
// reason, a sentence for people, and, for invalid parameters, one issue for each bad field.
//
// Invariants: a Reason never changes once released, because clients match on it. A Message
// never contains a secret or a stack trace.
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
	Blank          Reason = "blank" // a text that is only white space
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
	// SecretDetected rejects a text that seems to contain a secret, ApprovalRequired an action
	// that needs an approval first.
	SecretDetected   Reason = "secret_detected"
	ApprovalRequired Reason = "approval_required"
	RunBusy          Reason = "run_busy"
	// PlaceNotFound rejects a job for a run's worktree, if the run has none or is working in
	// it. RunExists rejects a run_id that is taken.
	PlaceNotFound Reason = "place_not_found"
	RunExists     Reason = "run_exists"
	Internal      Reason = "internal"
	// CursorAhead rejects a cursor beyond the end of a log.
	CursorAhead Reason = "cursor_ahead"
	// Reasons why a run cannot be continued.
	RunNotResumable Reason = "run_not_resumable"
	RunOwnedByJob   Reason = "run_owned_by_job"
	WorktreeGone    Reason = "worktree_gone"
	// ExceedsPermissionLevel rejects a level, or a mode, above the granted one. ActorNotAllowed
	// rejects an actor who may not decide this, whatever the role.
	ExceedsPermissionLevel Reason = "exceeds_permission_level"
	ActorNotAllowed        Reason = "actor_not_allowed"
	// Reasons of live sessions.
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
	// HubNotRunning: the request needs another machine, and the hub, the process that talks to
	// it, is not running.
	HubNotRunning Reason = "hub_not_running"
	// Reasons for rejecting calls of the tools that agents have.
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
	// Reasons why the work of a run cannot become a commit: others changed the same lines, or
	// the run began from uncommitted files.
	Conflicts    Reason = "conflicts"
	SnapshotBase Reason = "snapshot_base"
	// Reasons for not starting a run.
	ProgramMissing   Reason = "program_missing"
	PlaceUnavailable Reason = "place_unavailable"
	BudgetRefused    Reason = "budget_refused"
	PlanChanged      Reason = "plan_changed"
	NeverRan         Reason = "never_ran"
	PromptMasked     Reason = "prompt_masked"
	// Reasons of the control room: it was not allowed to launch, or the peer is another user.
	LaunchNotAllowed Reason = "launch_not_allowed"
	OtherUser        Reason = "other_user"
	// Reasons of a search: an invalid filter.
	BadQuery Reason = "bad_query"
	// Reasons of needs and help requests: one that is already settled, one that only a decision
	// or an answer settles, and a text that changed since it was read.
	Settled        Reason = "settled"
	NotDismissible Reason = "not_dismissible"
	Changed        Reason = "changed"
	// Reasons of MCP servers and model profiles: a record that cannot be passed to an agent, a
	// missing one, an invalid address, and a variable that is not set.
	MCPInvalid  Reason = "mcp_invalid"
	MCPNotFound Reason = "mcp_not_found"
	InvalidURL  Reason = "invalid_url"
	EnvMissing  Reason = "env_missing"
	// Reasons of model profiles only.
	ProfileExists   Reason = "profile_exists"
	ProfileNotFound Reason = "profile_not_found"
	ProfileInUse    Reason = "profile_in_use"
	InvalidHeader   Reason = "invalid_header"
	HostNotAllowed  Reason = "host_not_allowed"
	ProbeFailed     Reason = "probe_failed"
	ProbeHTTPError  Reason = "probe_http_error"
	ProbeBadJSON    Reason = "probe_bad_json"
	// Reasons of consoles.
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

// Issue describes what is wrong with one field. Path holds keys (string) and indexes (int) from
// the root of the checked value.
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

// String returns the field, if any, and the message.
func (i Issue) String() string { return strings.TrimPrefix(i.Field()+": "+i.Message, ": ") }

// JoinIssues formats issues for people, in one line unless a message has several.
func JoinIssues(issues []Issue) string {
	texts := make([]string, len(issues))
	for i, issue := range issues {
		texts[i] = issue.String()
	}
	return strings.Join(texts, "; ")
}

// Field formats the path of the issue for people: repos[1].label.
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
	// Data is nil, or a struct or a pointer to one. Its members are added to the error's data,
	// next to the reason.
	Data any
}

// With sets Data and returns the error.
func (e *Error) With(data any) *Error {
	e.Data = data
	return e
}

// SecretReport is the data of SecretDetected. It counts the secrets in a rejected text and does
// not contain the text.
type SecretReport struct {
	ReasonCode    string         `json:"reason_code"`
	ContextLabel  string         `json:"context_label"`
	TotalMatches  int            `json:"total_matches"`
	MatchesByKind map[string]int `json:"matches_by_kind"`
}

func (e *Error) Error() string { return e.Message }

// InFull returns the message with every issue, for the author of the parameters.
func (e *Error) InFull() string {
	if len(e.Issues) == 0 {
		return e.Message
	}
	return e.Message + ": " + JoinIssues(e.Issues)
}

// Unwrap returns the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.Cause }

// New returns an error with a reason and a sentence. A %w in the format sets the cause.
func New(reason Reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Reason: reason, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// Invalid returns the error for invalid parameters, given at least one issue.
func Invalid(issues ...Issue) *Error {
	return &Error{Reason: InvalidParams, Message: "Invalid params", Issues: issues}
}

// InvalidField returns the error for one invalid top-level parameter.
func InvalidField(field, format string, args ...any) *Error {
	return Invalid(Issue{Path: []any{field}, Code: "custom", Message: fmt.Sprintf(format, args...)})
}

// ReasonOf classifies any error: the reason of the outermost *Error in its chain, IO for
// file-system failures, Internal for everything else.
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
