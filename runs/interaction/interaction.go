// Package interaction models what an agent asks people and waits for: a permission, a question,
// a plan, or an input. It derives the record of an interaction from two events in the run's log,
// interaction.requested and interaction.resolved, regardless of who wrote them.
//
// Invariants: while an interaction is open, its first request wins; later requests with its id
// change nothing. The first resolution wins as well. The package never waits, writes, or reads a
// clock.
package interaction

import (
	"encoding/json"
	"errors"

	"ac/events"
	"ac/internal/canonjson"
	"ac/internal/shape"
)

// Kinds of interactions.
const (
	Permission = "permission"
	Question   = "question"
	Plan       = "plan"
	Input      = "input"
)

// States of an interaction. All but Open are final.
const (
	Open      = "open"
	Allowed   = "allowed"
	Denied    = "denied"
	Answered  = "answered"
	TimedOut  = "timed_out"
	Cancelled = "cancelled"
)

// Reasons for a resolution.
const (
	Decision      = "decision"
	Timeout       = "timeout"
	PolicyChanged = "policy_changed"
	Withdrawn     = "withdrawn"
	Interrupted   = "interrupted"
	TurnEnded     = "turn_ended"
	Stopped       = "stopped"
	SessionEnded  = "session_ended"
	SessionLost   = "session_lost"
)

// What happens to an interaction that times out.
const (
	DenyOnTimeout   = "deny"
	CancelOnTimeout = "cancel"
)

// Request is the payload of interaction.requested.
type Request struct {
	InteractionID string         `json:"interaction_id"`
	Kind          string         `json:"kind"`
	Turn          int            `json:"turn"`
	Workflow      *Workflow      `json:"workflow,omitempty"`
	Title         string         `json:"title"`
	Prompt        string         `json:"prompt"`
	Tool          string         `json:"tool,omitempty"`
	Operation     string         `json:"operation,omitempty"`
	Resource      string         `json:"resource,omitempty"`
	ArgsPreview   string         `json:"args_preview,omitempty"` // JSON
	Diff          string         `json:"diff,omitempty"`         // unified
	ItemID        string         `json:"item_id,omitempty"`      // of the transcript
	Options       []Option       `json:"options,omitempty"`
	Questions     []QuestionPart `json:"questions,omitempty"`
	RequestedAt   string         `json:"requested_at"`
	ExpiresAt     *string        `json:"expires_at"` // nil for never
	OnTimeout     string         `json:"on_timeout"`
}

// Workflow identifies the workflow step whose attempt asks, or the question that the workflow
// itself asks.
type Workflow struct {
	RunID string `json:"run_id,omitempty"`
	Step  string `json:"step,omitempty"`
	Name  string `json:"name,omitempty"`
}

// Option is one of the answers offered to a person.
type Option struct {
	OptionID    string `json:"option_id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Effect      string `json:"effect,omitempty"` // allow or deny
	Scope       string `json:"scope,omitempty"`  // once or session
}

// QuestionPart is one of several questions asked together.
type QuestionPart struct {
	QuestionID string   `json:"question_id"`
	Header     string   `json:"header,omitempty"`
	Question   string   `json:"question"`
	Multi      bool     `json:"multi_select"`
	FreeText   bool     `json:"free_text"`
	Secret     bool     `json:"secret"` // mask its answers wherever they are recorded
	Options    []Choice `json:"options"`
}

// Choice is one of the answers to a QuestionPart.
type Choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Outcome holds the details of a resolution besides its state.
type Outcome struct {
	By       string              `json:"by,omitempty"`
	ByRole   string              `json:"by_role,omitempty"`
	Scope    string              `json:"scope,omitempty"`
	Text     *string             `json:"text,omitempty"`
	Answers  map[string][]string `json:"answers,omitempty"`
	OptionID string              `json:"option_id,omitempty"`
	Note     string              `json:"note,omitempty"`
	Reason   string              `json:"reason,omitempty"`
}

// Resolution is the payload of interaction.resolved.
type Resolution struct {
	InteractionID string `json:"interaction_id"`
	Kind          string `json:"kind"`
	State         string `json:"state"`
	Outcome
}

// Record is an interaction as clients see it: the request, its state and its outcome.
type Record struct {
	RunID      string `json:"run_id"`
	ProjectID  string `json:"project_id"`
	SessionRef string `json:"session_ref,omitempty"` // "" for questions of a workflow
	AgentID    string `json:"agent_id"`
	Request
	State      string `json:"state"`
	ResolvedAt string `json:"resolved_at,omitempty"`
	Outcome
}

// Envelope holds the payload of an event and the envelope fields that this package needs.
type Envelope struct {
	Session, Actor, At string
	Payload            []byte
}

// NewRecord returns the record of the interaction that interaction.requested opens in a run. ok is
// false if the payload is invalid.
func NewRecord(project, run string, e Envelope) (record Record, ok bool) {
	var asked Request
	if !e.payloadInto(&asked) || !ValidID(asked.InteractionID) {
		return record, false
	}
	if asked.RequestedAt == "" {
		asked.RequestedAt = e.At
	}
	return Record{RunID: run, ProjectID: project, SessionRef: e.Session, AgentID: e.Actor, Request: asked.Bounded(), State: Open}, true
}

// Resolved returns the record after interaction.resolved. A missing or open state counts as
// Cancelled.
func (r Record) Resolved(done Resolution, at string) Record {
	r.State, r.ResolvedAt, r.Outcome = done.State, at, done.Outcome
	if r.State == "" || r.State == Open {
		r.State = Cancelled
	}
	return r
}

// ParseResolution parses the payload of interaction.resolved. ok is false if the payload is invalid.
func ParseResolution(e Envelope) (done Resolution, ok bool) {
	return done, e.payloadInto(&done)
}

// Lost returns the record of an interaction whose session no longer has an owner: an open one is
// cancelled.
func (r Record) Lost() Record {
	if r.State == Open {
		r.State, r.Outcome = Cancelled, Outcome{By: events.ActorSystem, Reason: SessionLost}
	}
	return r
}

// RecordFromLines builds the record of a run's interaction from its two event lines. resolved is nil
// while the interaction is open.
func RecordFromLines(project, run string, requested, resolved []byte) (Record, bool) {
	f := Fold{Project: project, Run: run}
	record := f.Apply(requested)
	if record == nil {
		return Record{}, false
	}
	f.Apply(resolved)
	return *record, true
}

// maxOpen bounds the open interactions that a Fold retains. Supervisors never exceed MaxOpen,
// but other writers of a log may.
const maxOpen = 4 * MaxOpen

// Fold reads the lines of one run's log and tracks the open interactions. A Fold that has only
// the ids of its run is ready for the first line.
type Fold struct {
	Project, Run string
	open         []*Record
}

// Apply reads one line, of any event type. It returns the record that the line opened or
// resolved, or nil if there is none. Later lines may change that record.
func (f *Fold) Apply(line []byte) *Record {
	var e Envelope
	switch events.Type(line) {
	case events.InteractionRequested:
		e.read(line)
		return f.request(e)
	case events.InteractionResolved:
		e.read(line)
		return f.resolve(e)
	}
	return nil
}

// Open returns the open interactions, the oldest first.
func (f *Fold) Open() []Record {
	list := make([]Record, len(f.open))
	for i, r := range f.open {
		list[i] = *r
	}
	return list
}

func (f *Fold) request(e Envelope) *Record {
	r, ok := NewRecord(f.Project, f.Run, e)
	if !ok || f.find(r.InteractionID) >= 0 || len(f.open) >= maxOpen {
		return nil
	}
	f.open = append(f.open, &r)
	return &r
}

func (f *Fold) resolve(e Envelope) *Record {
	done, ok := ParseResolution(e)
	if !ok {
		return nil
	}
	i := f.find(done.InteractionID)
	if i < 0 {
		return nil
	}
	r := f.open[i]
	f.open = append(f.open[:i:i], f.open[i+1:]...)
	*r = r.Resolved(done, e.At)
	return r
}

func (f *Fold) find(id string) int {
	for i, r := range f.open {
		if r.InteractionID == id {
			return i
		}
	}
	return -1
}

// ValidID reports whether id is a valid interaction id.
func ValidID(id string) bool { return shape.CheckID(id) == "" }

func (e *Envelope) read(line []byte) {
	_ = canonjson.Members(line, func(m canonjson.Member) { // events.Type already validated the line
		switch string(m.Key) {
		case "session_ref":
			e.Session = textOf(m.Value)
		case "actor":
			e.Actor = textOf(m.Value)
		case "ts_wallclock":
			e.At = textOf(m.Value)
		case "payload":
			e.Payload = m.Value
		}
	})
}

func textOf(raw []byte) string {
	if raw[0] != '"' {
		return ""
	}
	return canonjson.Unquote(raw)
}

// payloadInto decodes the payload. Members of the wrong type stay empty.
func (e *Envelope) payloadInto(target any) bool {
	if len(e.Payload) == 0 || e.Payload[0] != '{' {
		return false
	}
	err := json.Unmarshal(e.Payload, target)
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || odd
}
