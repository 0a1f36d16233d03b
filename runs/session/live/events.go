package live

// The events that a conversation writes, and how they represent texts.

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
	// maxName bounds the agent's name and version.
	maxName = 200
)

// Origins of a session's conversation.
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

// draft returns an event of the session.
func (c *Conversation) draft(kind string, payload any) events.Draft {
	d, err := c.s.Draft(kind, payload)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", kind, err)) // the payloads are our own types
	}
	return d
}

// masked returns a text with its secrets masked.
func (c *Conversation) masked(text string) string { return c.s.Secrets.String(text) }

// storeText returns a text as its event shows it. If that is truncated, the full text is durable in
// an output file on return.
func (c *Conversation) storeText(text, file string) (shown string, size int, cut bool, err error) {
	whole := c.masked(text)
	shown = clip.Head(whole, session.MaxText)
	if cut = len(shown) < len(whole); cut && file != "prompt.txt" { // prompt.txt already exists
		err = c.s.Workspace.Replace(path.Join(c.s.OutDir, file), []byte(whole), 0o644)
	}
	return shown, len(text), cut, err
}

// withWords appends the end of the agent's stderr to an error. It keeps the error within its
// bound, and keeps the last words, which usually name the cause.
func withWords(what, words string) string {
	if words == "" {
		return what
	}
	return what + ": " + clip.Tail(words, session.MaxError-len(what)-len(": "))
}

func clipped(name string) string { return clip.Head(name, maxName) }

// kindOf returns the kind of a turn's failure, "" for a turn that did not fail.
func (c *Conversation) kindOf(o agent.Outcome) string {
	if o.Status != agent.Failed {
		return ""
	}
	if f := c.s.Reading.Failure(); f != nil && f.Kind != "" && f.Kind != failure.Unknown {
		return f.Kind
	}
	return failure.Classify(o.Error)
}

// activity returns what the session is doing now.
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

// updateActivity updates the activity hint in the session's record. The log is authoritative.
func (c *Conversation) updateActivity() {
	activity, number := c.activity(), c.turns
	if was := c.s.Snapshot(); was.Activity == activity && was.Turn == number || doc.Terminal(was.Status) {
		return
	}
	c.s.Amend(false, func(r *doc.Session) { r.Activity, r.Turn = activity, number })
}
