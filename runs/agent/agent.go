// Package agent implements the protocols of agents: one driver for each, behind one interface. A
// driver encodes the supervisor's requests as frames for the agent's stdin, and turns the lines
// of its stdout into calls of the supervisor.
//
// A driver is a state machine for one goroutine: the supervisor calls it, and it may call the
// supervisor back before it returns. It uses no files, events, clocks or policies. It never
// blocks on a reply: every reply of the agent arrives as a line.
//
// A driver ignores unknown messages and refuses unknown requests. It treats a member of an
// unexpected type as absent.
package agent

import (
	"errors"

	"ac/runs/usage"
)

// Driver controls one agent process.
type Driver interface {
	// Start starts the handshake. Host.HandshakeSucceeded or Host.HandshakeFailed ends it.
	Start(h Host, s Start) error
	// Prompt starts a turn. No other may be active. Host.TurnEnded ends it.
	Prompt(p Prompt) error
	// Steer sends a text during a turn. ErrQueue means that the agent accepts no text during a
	// turn, so the text must be part of the next prompt.
	Steer(p Prompt) error
	// Interrupt requests the end of the turn. It is idempotent, and a no-op without a turn. It
	// calls Host.Withdrawn for each request that needs no answer any more.
	Interrupt() error
	// Answer answers a request reported by Host.Asked. It is a no-op for a request already
	// answered or withdrawn, and for one of a turn that has ended.
	Answer(request string, a Answer) error
	// Mode sends a changed mode to the agent, if the agent has a mode of its own for it.
	Mode(mode string) error
	// Compact has the agent compact its context, as a turn of its own. ErrQueue means that it
	// cannot.
	Compact(p Prompt) error
	// Compacts reports whether Compact would not return ErrQueue.
	Compacts() bool
	// Line processes one line of the agent's stdout, in order.
	Line(line []byte)
}

// Host is the supervisor as seen by a driver.
type Host interface {
	// Send writes one frame and its LF to the agent.
	Send(frame []byte) error
	// HandshakeSucceeded reports a successful handshake. From then on, a prompt may be sent.
	HandshakeSucceeded(c Conversation)
	// HandshakeFailed reports that the handshake failed.
	HandshakeFailed(b HandshakeFailure)
	// Accepted reports the agent's own id of the turn that the last prompt began.
	Accepted(turn string)
	// TurnBegan reports a turn that the agent began by itself, for a steer in its own queue.
	TurnBegan(steer string)
	// Asked reports a request that waits for an answer.
	Asked(q Request)
	// Withdrawn reports that the agent no longer waits for an answer to a request.
	Withdrawn(request string)
	// SteerTaken reports that the agent took a steer. SteerReturned returns one that arrived too
	// late for the turn. SteerRefused reports one that the agent refused.
	SteerTaken(id string, how How)
	SteerReturned(id string)
	SteerRefused(id, why string)
	// Used reports the usage of the whole session so far, and the model of this turn.
	Used(r usage.Report)
	// Cycled reports signs that the agent compacted its context.
	Cycled(found []usage.Cycle)
	// Notice reports an informational message for people, such as a setting that the agent
	// refused.
	Notice(text string)
	// TurnEnded reports the end of the turn. The agent no longer waits for any answer, and may use
	// the ids of its requests again.
	TurnEnded(o Outcome)
}

// ErrQueue means that the agent cannot accept a text, or compact, now.
var ErrQueue = errors.New("the agent does not take this during a turn")

// Start holds the parameters of a conversation's start.
type Start struct {
	Version     string // of ac
	Dir         string // working directory
	Model       string // "" for the agent's choice
	Named       bool   // the agent's command line or environment already names the model
	Sandbox     string // by its name in codex's protocol
	HasApprover bool   // a person or a rule answers the agent's requests
	Mode        string // of the run
	// Thread is the conversation to resume, "" for a new one. With MustResume, a new conversation
	// is no substitute.
	Thread     string
	MustResume bool
	// Baseline is what the conversation had used before this session.
	Baseline usage.Report
	Servers  []Server
	Without  []string // codex features to disable
}

// Prompt is a text for the agent. ID is assigned by ac and unique in the run.
type Prompt struct {
	ID    string
	Text  string
	Model string // for this turn and later ones, "" for no change
}

// How describes the way by which a steer reached the agent.
type How string

// Ways of delivery.
const (
	MidTurn      How = "mid_turn"
	NextTurn     How = "next_turn"
	NewTurn      How = "new_turn"
	Continuation How = "continuation"
)

// Conversation describes a conversation after the handshake.
type Conversation struct {
	Thread       string // "" if the agent names it only in its first turn
	Name         string
	Version      string
	Protocol     string
	Resumed      bool
	ResumeError  string // why the conversation could not be resumed, in the agent's words
	Capabilities Capabilities
	Mode         string // the agent's own mode, "" for none
	Model        string // the model in use, "" if not yet known
}

// Capabilities describes what an agent supports.
type Capabilities struct {
	Steer     bool     `json:"steer"`
	Interrupt bool     `json:"interrupt"`
	Resume    bool     `json:"resume"`
	Modes     []string `json:"modes"`
	MCP       bool     `json:"mcp"`
}

// Reasons why a session fails before its first prompt or between prompts.
const (
	ReasonHandshake = "agent_handshake_timeout"
	ReasonProtocol  = "agent_protocol"
	ReasonAuth      = "agent_auth_required"
	ReasonEnded     = "agent_ended"
	ReasonStuck     = "agent_stuck"
	ReasonResume    = "resume_failed"
	ReasonInterrupt = "interrupt_timeout"
)

// HandshakeFailure describes a failed handshake.
type HandshakeFailure struct {
	Reason string
	Error  string
	// Restart means that the agent must be restarted without the conversation, which it could not
	// find.
	Restart bool
}

// Outcome describes how a turn ended.
type Outcome struct {
	Status     string
	StopReason string
	Error      string
}

// Statuses of a turn.
const (
	Completed   = "completed"
	Interrupted = "interrupted"
	Failed      = "failed"
)

// Kinds of requests.
const (
	Permission = "permission"
	Question   = "question"
	Plan       = "plan"
	Input      = "input"
)

// Operations that an agent requests permission for.
const (
	Read    = "fs_read"
	Write   = "fs_write"
	Execute = "fs_exec"
	Network = "network"
	Tool    = "mcp_tool"
)

// Access is one access that a permission request asks for. A path is as the agent wrote it, "" if
// unknown.
type Access struct{ Operation, Resource string }

// Request is a request of an agent that waits for an answer.
type Request struct {
	Key      string // the driver's key, for Answer
	Kind     string
	Title    string
	Prompt   string
	Tool     string
	Accesses []Access // for permission requests
	Args     []byte   // JSON of the tool's input, nil for none
	Diff     string
	Item     string // the agent's own id of the waiting item
	// Always means that the agent accepts only answers that hold for the whole conversation.
	Always    bool
	Questions []QuestionPart
}

// QuestionPart is one question of a request.
type QuestionPart struct {
	ID, Header, Question string
	Multi, Free, Secret  bool
	Choices              []Choice
}

// Choice is one of the answers that a question offers.
type Choice struct{ Label, Description string }

// Answer is the answer to a request.
type Answer struct {
	State    string // allowed, denied, answered, timed_out or cancelled
	Session  bool   // allowed for the session
	Stopping bool   // cancelled because the session stops
	Text     string // for the agent
	Answers  map[string][]string
}

// States of an answer.
const (
	Allowed   = "allowed"
	Denied    = "denied"
	Answered  = "answered"
	TimedOut  = "timed_out"
	Cancelled = "cancelled"
)

// unanswered is sent to an agent whose question nobody answered.
const unanswered = "The question was not answered."

// text returns the text sent to the agent with a denial.
func (a Answer) text() string {
	switch {
	case a.Text != "":
		return a.Text
	case a.State == TimedOut:
		return "Nobody answered in time."
	case a.State == Cancelled:
		return "Cancelled."
	}
	return "Denied."
}
