package live

// What a conversation tells in the log, and how texts stand there.

import (
	"errors"
	"fmt"
	"path"

	"ac/events"
	"ac/internal/clip"
	"ac/runs/agent"
	"ac/runs/failure"
	"ac/runs/session"
	"ac/workspace/doc"
)

const (
	// maxName bounds what an agent calls itself.
	maxName = 200
)

// How a conversation of a session came to be.
const (
	resumedProvider = "provider"
	resumedDigest   = "digest"
	resumedLive     = "live"
	resumedNo       = "no"
	resumedPending  = "pending"
)

var errInterrupt = errors.New("the agent did not end its turn when it was asked to")

type agentStartedPayload struct {
	Driver          string             `json:"driver"`
	AgentName       string             `json:"agent_name,omitempty"`
	AgentVersion    string             `json:"agent_version,omitempty"`
	ProtocolVersion string             `json:"protocol_version,omitempty"`
	ThreadID        string             `json:"thread_id"`
	Resumed         string             `json:"resumed"`
	ResumeError     string             `json:"resume_error,omitempty"`
	Capabilities    agent.Capabilities `json:"capabilities"`
	AgentMode       string             `json:"agent_mode,omitempty"`
}

type turnAcceptedPayload struct {
	Turn           int    `json:"turn"`
	ProviderTurnID string `json:"provider_turn_id"`
}

// noticePayload is the payload of run.notice.
type noticePayload struct {
	Message string `json:"message"`
}

type interruptPayload struct {
	Turn    int    `json:"turn"`
	SteerID string `json:"steer_id,omitempty"`
}

// draft makes an event of the session.
func (c *Conversation) draft(kind string, payload any) events.Draft {
	d, err := c.s.Draft(kind, payload)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", kind, err)) // values of ours
	}
	return d
}

// masked is a text as it may be written down.
func (c *Conversation) masked(text string) string { return c.s.Secrets.String(text) }

// written is a text as its event has it. Where that is not the whole, the whole lies
// in a file of the outputs when written returns.
func (c *Conversation) written(text, file string) (shown string, size int, cut bool, err error) {
	whole := c.masked(text)
	shown = clip.Head(whole, session.MaxText)
	if cut = len(shown) < len(whole); cut && file != "prompt.txt" { // that one is there already
		err = c.s.Workspace.Replace(path.Join(c.s.OutDir, file), []byte(whole), 0o644)
	}
	return shown, len(text), cut, err
}

// withWords adds the end of what an agent wrote to stderr to what became of it. The error
// keeps its bound, and the last words, which say why.
func withWords(what, words string) string {
	if words == "" {
		return what
	}
	return what + ": " + clip.Tail(words, session.MaxError-len(what)-len(": "))
}

func clipped(name string) string { return clip.Head(name, maxName) }

// kindOf is of which kind the failure of a turn is, "" for a turn that did not fail.
func (c *Conversation) kindOf(o agent.Outcome) string {
	if o.Status != agent.Failed {
		return ""
	}
	if f := c.s.Reading.Failure(); f != nil && f.Kind != "" && f.Kind != failure.Unknown {
		return f.Kind
	}
	return failure.Classify(o.Error)
}

// activity is what the session does now.
func (c *Conversation) activity() string {
	switch {
	case c.closing:
		return "ending"
	case !c.opened:
		return "starting"
	case len(c.open) > 0:
		return "waiting_" + c.open[0].Kind
	case c.turn != nil:
		return "busy"
	}
	return "idle"
}

// show keeps the record's hint of what the session does; the log is the truth.
func (c *Conversation) show() {
	activity, number := c.activity(), c.turns
	if was := c.s.Snapshot(); was.Activity == activity && was.Turn == number || doc.Terminal(was.Status) {
		return
	}
	c.s.Amend(false, func(r *doc.Session) { r.Activity, r.Turn = activity, number })
}
