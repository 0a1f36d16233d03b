package transcript

// What an agent asks and waits for.

import (
	"encoding/json"
	"slices"
)

// Kinds of interactions.
const (
	AskPermission = "permission"
	AskQuestion   = "question"
	AskPlan       = "plan"
	AskInput      = "input"
)

// States of an interaction.
const (
	AskOpen      = "open"
	AskAllowed   = "allowed"
	AskDenied    = "denied"
	AskAnswered  = "answered"
	AskTimedOut  = "timed_out"
	AskCancelled = "cancelled"
)

// Interaction is the record of something that an agent asked, as far as the events
// tell it.
type Interaction struct {
	ID          string        `json:"interaction_id"`
	Kind        string        `json:"kind"`
	RunID       string        `json:"run_id,omitempty"`
	ProjectID   string        `json:"project_id,omitempty"`
	SessionRef  string        `json:"session_ref,omitempty"`
	AgentID     string        `json:"agent_id,omitempty"`
	Turn        int           `json:"turn"`
	Workflow    *WorkflowStep `json:"workflow,omitempty"`
	Title       string        `json:"title"`
	Prompt      string        `json:"prompt"`
	Tool        string        `json:"tool,omitempty"`
	Operation   string        `json:"operation,omitempty"`
	Resource    string        `json:"resource,omitempty"`
	ArgsPreview string        `json:"args_preview,omitempty"`
	Diff        string        `json:"diff,omitempty"`
	ItemID      string        `json:"item_id,omitempty"` // the item that waits
	Options     []Option      `json:"options,omitempty"`
	Questions   []Question    `json:"questions,omitempty"`
	RequestedAt string        `json:"requested_at"`
	ExpiresAt   *string       `json:"expires_at"` // null for never
	OnTimeout   string        `json:"on_timeout"`
	State       string        `json:"state"`

	ResolvedAt string              `json:"resolved_at,omitempty"`
	By         string              `json:"by,omitempty"`
	ByRole     string              `json:"by_role,omitempty"`
	Scope      string              `json:"scope,omitempty"`
	Text       string              `json:"text,omitempty"`
	Answers    map[string][]string `json:"answers,omitempty"`
	OptionID   string              `json:"option_id,omitempty"`
	Note       string              `json:"note,omitempty"`
	Reason     string              `json:"reason,omitempty"`

	size int // of the payloads that it was made of
}

// WorkflowStep is the attempt of a workflow's step that asks.
type WorkflowStep struct {
	RunID string `json:"run_id,omitempty"`
	Step  string `json:"step,omitempty"`
	Name  string `json:"name,omitempty"`
}

// Option is one way to answer.
type Option struct {
	ID          string `json:"option_id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Effect      string `json:"effect,omitempty"` // allow deny
	Scope       string `json:"scope,omitempty"`  // once session
}

// Question is one of those that are asked together.
type Question struct {
	ID          string           `json:"question_id"`
	Header      string           `json:"header,omitempty"`
	Question    string           `json:"question"`
	MultiSelect bool             `json:"multi_select"`
	FreeText    bool             `json:"free_text"`
	Secret      bool             `json:"secret"`
	Options     []QuestionOption `json:"options"`
}

// QuestionOption is a choice of a question.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Requested reads the record that an interaction.requested event opens; project is
// where its run lies. ok is false for an event that opens none.
func Requested(project string, e Event) (record *Interaction, ok bool) {
	r := &Interaction{RunID: e.RunID, ProjectID: project, SessionRef: e.SessionRef, AgentID: e.Actor}
	if json.Unmarshal(e.Payload, r) != nil || r.ID == "" {
		return nil, false
	}
	r.State, r.size = AskOpen, len(e.Payload)
	r.RequestedAt = firstOf(r.RequestedAt, e.At)
	return r, true
}

// Resolved is the record as an interaction.resolved event leaves it. ok is false for
// an event that does not fit.
func (r *Interaction) Resolved(e Event) (record *Interaction, ok bool) {
	var p struct {
		State    string              `json:"state"`
		By       string              `json:"by"`
		ByRole   string              `json:"by_role"`
		Scope    string              `json:"scope"`
		Text     string              `json:"text"`
		Answers  map[string][]string `json:"answers"`
		OptionID string              `json:"option_id"`
		Note     string              `json:"note"`
		Reason   string              `json:"reason"`
	}
	if json.Unmarshal(e.Payload, &p) != nil {
		return nil, false
	}
	done := *r
	done.State, done.ResolvedAt, done.By, done.ByRole = firstOf(p.State, AskCancelled), e.At, p.By, p.ByRole
	done.Scope, done.Text, done.Answers, done.OptionID, done.Note, done.Reason = p.Scope, p.Text, p.Answers, p.OptionID, p.Note, p.Reason
	done.size += len(e.Payload)
	return &done, true
}

// itemKind is the kind of the item that shows an interaction.
func (r *Interaction) itemKind() string {
	if r.Kind == AskPermission || r.Kind == AskPlan {
		return KindPermission
	}
	return KindQuestion
}

// refused reports whether what was asked for was not allowed.
func (r *Interaction) refused() bool {
	return slices.Contains([]string{AskDenied, AskTimedOut, AskCancelled}, r.State)
}
