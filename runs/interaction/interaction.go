// Package interaction is what an agent asks of people and waits for: a permission,
// a question, a plan, an input. Its record is derived from two events of the run's
// log, interaction.requested and interaction.resolved, from any writer.
//
// Invariants: the first request of an id that is open stands, and so does the
// first resolution of it; what comes later changes nothing. Nothing here waits,
// writes, or looks at a clock.
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

// Reasons of a resolution.
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

// What becomes of an interaction that nobody answers in time.
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

// Workflow is the step of a workflow whose attempt asks, or the question of the
// workflow itself.
type Workflow struct {
	RunID string `json:"run_id,omitempty"`
	Step  string `json:"step,omitempty"`
	Name  string `json:"name,omitempty"`
}

// Option is one way to answer.
type Option struct {
	OptionID    string `json:"option_id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Effect      string `json:"effect,omitempty"` // allow or deny
	Scope       string `json:"scope,omitempty"`  // once or session
}

// QuestionPart is one of the questions that are asked together.
type QuestionPart struct {
	QuestionID string   `json:"question_id"`
	Header     string   `json:"header,omitempty"`
	Question   string   `json:"question"`
	Multi      bool     `json:"multi_select"`
	FreeText   bool     `json:"free_text"`
	Secret     bool     `json:"secret"` // its answers are masked in all that is recorded
	Options    []Choice `json:"options"`
}

// Choice is one of the answers that a question offers.
type Choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Outcome is what is known of a resolution beside its state.
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

// Record is an interaction as clients see it.
type Record struct {
	RunID      string `json:"run_id"`
	ProjectID  string `json:"project_id"`
	SessionRef string `json:"session_ref,omitempty"` // none in questions of a workflow
	AgentID    string `json:"agent_id"`
	Request
	State      string `json:"state"`
	ResolvedAt string `json:"resolved_at,omitempty"`
	Outcome
}

// Envelope is what an event tells beside its payload, and that.
type Envelope struct {
	Session, Actor, At string
	Payload            []byte
}

// Asked is the record that interaction.requested opens in a run. ok is false for a payload
// that opens none.
func Asked(project, run string, e Envelope) (record Record, ok bool) {
	var asked Request
	if !e.payloadInto(&asked) || !ValidID(asked.InteractionID) {
		return record, false
	}
	if asked.RequestedAt == "" {
		asked.RequestedAt = e.At
	}
	return Record{RunID: run, ProjectID: project, SessionRef: e.Session, AgentID: e.Actor, Request: asked.Bounded(), State: Open}, true
}

// Resolved is the record as interaction.resolved leaves it.
func (r Record) Resolved(done Resolution, at string) Record {
	r.State, r.ResolvedAt, r.Outcome = done.State, at, done.Outcome
	if r.State == "" || r.State == Open {
		r.State = Cancelled
	}
	return r
}

// Done reads what interaction.resolved says. ok is false for a payload that fits none.
func Done(e Envelope) (done Resolution, ok bool) {
	return done, e.payloadInto(&done)
}

// Lost is the record of an interaction that is open in the log and whose session
// has no owner any more.
func (r Record) Lost() Record {
	if r.State == Open {
		r.State, r.Outcome = Cancelled, Outcome{By: events.ActorSystem, Reason: SessionLost}
	}
	return r
}

// OfLines makes the record of an interaction of a run from the lines of its events;
// resolved is nil while it is open.
func OfLines(project, run string, requested, resolved []byte) (Record, bool) {
	f := Fold{Project: project, Run: run}
	record := f.Apply(requested)
	if record == nil {
		return Record{}, false
	}
	f.Apply(resolved)
	return *record, true
}

// maxOpen bounds how many open interactions are kept of a log that no supervisor
// of ours wrote; ours bounds them by MaxOpen.
const maxOpen = 4 * MaxOpen

// Fold reads the lines of one run's log and keeps what is open. The zero value
// with the ids of the run is ready for the first line.
type Fold struct {
	Project, Run string
	open         []*Record
}

// Apply takes one line, of any type. It returns the record that the line opened
// or resolved, which later lines change, and nil for all others.
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

// Open lists what is open, the oldest first.
func (f *Fold) Open() []Record {
	list := make([]Record, len(f.open))
	for i, r := range f.open {
		list[i] = *r
	}
	return list
}

func (f *Fold) request(e Envelope) *Record {
	r, ok := Asked(f.Project, f.Run, e)
	if !ok || f.find(r.InteractionID) >= 0 || len(f.open) >= maxOpen {
		return nil
	}
	f.open = append(f.open, &r)
	return &r
}

func (f *Fold) resolve(e Envelope) *Record {
	done, ok := Done(e)
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

// ValidID reports whether an id names an interaction.
func ValidID(id string) bool { return shape.CheckID(id) == "" }

func (e *Envelope) read(line []byte) {
	_ = canonjson.Members(line, func(m canonjson.Member) { // Type has read it to its end
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

// payloadInto decodes the payload; members of other types than they should have
// stay empty.
func (e *Envelope) payloadInto(target any) bool {
	if len(e.Payload) == 0 || e.Payload[0] != '{' {
		return false
	}
	err := json.Unmarshal(e.Payload, target)
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || odd
}
