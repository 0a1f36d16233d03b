// Package agent speaks with agents: one driver for each protocol, behind one
// interface. A driver turns what the supervisor wants into frames for the agent's
// stdin, and the lines of its stdout into calls of the supervisor.
//
// A driver is a state machine for one goroutine: the supervisor calls it, and it
// calls the supervisor back before it returns. It touches no file, no event, no
// clock and no policy. It never waits: every answer of the agent comes as a line.
//
// Messages that a driver does not know change nothing. Requests that it does not
// know are refused. A member of an unexpected type counts as absent.
package agent

import (
	"errors"

	"ac/runs/usage"
)

// Driver speaks with one agent process.
type Driver interface {
	// Start begins the handshake. Host.Conversation or Host.Broke ends it.
	Start(h Host, s Start) error
	// Prompt begins a turn; none may be under way. Host.TurnEnded ends it.
	Prompt(p Prompt) error
	// Steer says something during a turn. ErrQueue: the agent takes nothing during
	// one, so the text has to be the next prompt.
	Steer(p Prompt) error
	// Interrupt asks for the end of the turn. It is idempotent, and does nothing
	// without a turn. Host.Withdrawn tells of what no longer waits because of it.
	Interrupt() error
	// Answer answers what was asked by Host.Asked. It does nothing for a request
	// that is answered or withdrawn.
	Answer(request string, a Answer) error
	// Mode tells the agent a changed mode, where it has one for it.
	Mode(mode string) error
	// Compact has the agent compact its context, as a turn of its own. ErrQueue: it
	// cannot.
	Compact(p Prompt) error
	// Compacts reports whether Compact would not return ErrQueue.
	Compacts() bool
	// Line takes one line of the agent's stdout, in order.
	Line(line []byte)
}

// Host is the supervisor, as a driver sees it.
type Host interface {
	// Send writes one frame and its LF to the agent.
	Send(frame []byte) error
	// Conversation reports the end of the handshake: a prompt may be sent.
	Conversation(c Conversation)
	// Broke reports that the handshake failed.
	Broke(b Broken)
	// Accepted reports the agent's own id of the turn that the last prompt began.
	Accepted(turn string)
	// TurnBegan reports a turn that the agent began by itself, for a steer that
	// it had queued.
	TurnBegan(steer string)
	// Asked reports that the agent waits for an answer.
	Asked(q Request)
	// Withdrawn reports that the agent no longer waits for it.
	Withdrawn(request string)
	// SteerTaken reports that the agent took a steer. SteerReturned gives one back
	// that came too late for the turn, SteerRefused one that the agent does not want.
	SteerTaken(id string, how How)
	SteerReturned(id string)
	SteerRefused(id, why string)
	// Used reports what the session used so far, not only this turn, and the model of
	// this turn.
	Used(r usage.Report)
	// Cycled reports signs that the agent compacted its context.
	Cycled(found []usage.Cycle)
	// Notice reports what people should know and nothing follows from, such as a wish
	// of ours that the agent refused.
	Notice(text string)
	// TurnEnded reports the end of the turn.
	TurnEnded(o Outcome)
}

// ErrQueue says that the agent cannot take a text, or a wish, now.
var ErrQueue = errors.New("the agent does not take this during a turn")

// Start is what a conversation begins with.
type Start struct {
	Version string // ours
	Dir     string // working directory
	Model   string // "" for the agent's choice
	Named   bool   // the agent's command line names the model
	Sandbox string // by its name in the protocol of codex
	Asked   bool   // somebody, or a rule, answers the agent's requests
	Mode    string // of the run
	// Thread is the conversation to be gone on with, "" for a new one. MustResume:
	// a new one does not do instead.
	Thread     string
	MustResume bool
	// Baseline is what the conversation had used before this session.
	Baseline usage.Report
	Servers  []Server
	Without  []string // features of codex that the conversation does not have
}

// Prompt is a text for the agent. ID is ours, unique in the run.
type Prompt struct {
	ID    string
	Text  string
	Model string // of this turn on, "" for the one before
}

// How a steer reached the agent.
type How string

// The ways.
const (
	MidTurn      How = "mid_turn"
	NextTurn     How = "next_turn"
	NewTurn      How = "new_turn"
	Continuation How = "continuation"
)

// Conversation is what is known once the handshake is done.
type Conversation struct {
	Thread       string // "" where the agent tells it with its first turn
	Name         string
	Version      string
	Protocol     string
	Resumed      bool
	ResumeError  string // why it is a new conversation, in the agent's words
	Capabilities Capabilities
	Mode         string // the agent's own, "" where it has none
	Model        string // that the agent works with, "" where it does not tell yet
}

// Capabilities are what an agent can do.
type Capabilities struct {
	Steer     bool     `json:"steer"`
	Interrupt bool     `json:"interrupt"`
	Resume    bool     `json:"resume"`
	Modes     []string `json:"modes"`
	MCP       bool     `json:"mcp"`
}

// Reasons why a session does not get to its first prompt, or from one to the next.
const (
	ReasonHandshake = "agent_handshake_timeout"
	ReasonProtocol  = "agent_protocol"
	ReasonAuth      = "agent_auth_required"
	ReasonEnded     = "agent_ended"
	ReasonStuck     = "agent_stuck"
	ReasonResume    = "resume_failed"
	ReasonInterrupt = "interrupt_timeout"
)

// Broken is a handshake that failed.
type Broken struct {
	Reason string
	Error  string
	// Again: the agent has to be started again, without the conversation that it
	// does not find.
	Again bool
}

// Outcome is how a turn ended.
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

// Operations that permissions are asked for.
const (
	Read    = "fs_read"
	Write   = "fs_write"
	Execute = "fs_exec"
	Network = "network"
	Tool    = "mcp_tool"
)

// Want is one thing that a permission is asked for. A path is as the agent wrote
// it, "" where it is not known.
type Want struct{ Operation, Resource string }

// Request is what an agent waits for.
type Request struct {
	Key    string // the driver's, for Answer
	Kind   string
	Title  string
	Prompt string
	Tool   string
	Wants  []Want // of permissions
	Args   []byte // JSON of the tool's input, nil for none
	Diff   string
	Item   string // the agent's own id of the item that waits
	// Always: the agent takes only answers that hold for the whole conversation.
	Always    bool
	Questions []Asked
}

// Asked is one question of a request.
type Asked struct {
	ID, Header, Question string
	Multi, Free, Secret  bool
	Choices              []Choice
}

// Choice is one of the answers that a question offers.
type Choice struct{ Label, Description string }

// Answer is what becomes of a request.
type Answer struct {
	State    string // allowed, denied, answered, timed_out or cancelled
	Session  bool   // allowed for the session
	Stopping bool   // cancelled since the session stops
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

// unanswered is what an agent is told whose question nobody answers.
const unanswered = "The question was not answered."

// text is what an agent is told with a denial.
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
