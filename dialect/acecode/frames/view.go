package frames

// The state of a client that received all events of a session. The snapshot is made from it, so
// both agree.

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"ac/runs/transcript"
)

// Limits of the messages of a snapshot. The oldest are dropped first.
const (
	maxMessages     = 2000
	maxMessageBytes = 8 << 20
)

// View is the state of a session after its events. Copies share its contents, which are never
// modified.
type View struct {
	Messages  []*Message
	bytes     int
	Truncated bool
	Count     int // total number of messages, including dropped ones

	draft   *draft  // the open answer
	open    []Frame // events tool_start, tool_update and open requests, in order
	Busy    *Frame  // the latest busy event of the running turn
	Turns   int
	step    bool // the last messages are a step with tools
	Title   string
	First   string // the first text from a person
	Todos   []Todo
	Summary TodoSummary
	Used    *TurnTokens
	Last    int64 // time of the newest event in milliseconds
}

// Clone returns an independent copy.
func (v *View) Clone() *View {
	c := *v
	c.Messages, c.open = slices.Clip(v.Messages), slices.Clone(v.open)
	if v.draft != nil {
		c.draft = &draft{slices.Clip(v.draft.text), v.draft.Frame}
	}
	return &c
}

// apply applies the next event.
func (v *View) apply(f Frame) {
	v.Last = f.At
	switch p := f.Payload.(type) {
	case TextPayload:
		if f.Type == TypeToken {
			v.token(f, p)
		}
	case MessagePayload:
		v.draft, v.step = nil, false
		if p.Role == transcript.RoleUser && v.First == "" {
			v.First = p.Content
		}
		v.add(&p.Message)
	case toolStartPayload:
		v.open = append(v.open, f)
	case ToolUpdatePayload:
		v.remove(TypeToolUpdate, p.CallID)
		v.open = append(v.open, f)
	case toolEndPayload:
		v.toolEnded(f, p)
	case permissionPayload, QuestionPayload:
		v.open = append(v.open, f)
	case permissionClosedPayload:
		v.remove(typePermissionRequest, p.RequestID)
	case questionClosedPayload:
		v.remove(typeQuestionRequest, p.RequestID)
	case usagePayload:
		v.Used = &p.TurnTokens
	case todosPayload:
		v.Todos, v.Summary = p.Todos, p.Summary
	case SessionPayload:
		v.Title = p.Title
	case replacePayload:
		v.replace(p.Messages)
	case busyPayload:
		v.busyChanged(f, p)
	}
}

// draft is the open answer: its text so far, and its latest event.
type draft struct {
	text []byte
	Frame
}

func (v *View) token(f Frame, p TextPayload) {
	d := &draft{Frame: f}
	if v.draft != nil {
		d.text = v.draft.text
	}
	d.text = append(d.text, p.Text...)
	v.draft = d
}

// event returns a single event with the whole text.
func (d *draft) event() Frame {
	f := d.Frame
	p, _ := f.Payload.(TextPayload) // always
	p.Text = string(d.text)
	p.Delta = p.Text
	f.Payload = p
	return f
}

// drafted returns the item of the open answer, "" if there is none.
func (v *View) drafted() string {
	if v.draft == nil {
		return ""
	}
	p, _ := v.draft.Payload.(TextPayload) // always
	return p.ItemID
}

// drop discards the open answer.
func (v *View) drop() { v.draft = nil }

func (v *View) add(m *Message) {
	v.Messages = append(v.Messages, m)
	v.Count++
	v.bytes += sizeOf(m)
	v.trim()
}

// trim drops the oldest messages beyond the limits.
func (v *View) trim() {
	n := max(0, len(v.Messages)-maxMessages)
	for _, m := range v.Messages[:n] {
		v.bytes -= sizeOf(m)
	}
	for v.bytes > maxMessageBytes && n < len(v.Messages)-1 {
		v.bytes -= sizeOf(v.Messages[n])
		n++
	}
	if n > 0 {
		v.Messages, v.Truncated = v.Messages[n:], true
	}
}

// sizeOf returns the approximate size of a message in bytes.
func sizeOf(m *Message) int {
	n := 200 + len(m.Content)
	for _, c := range m.ToolCalls {
		n += 100 + len(c.Function.Arguments)
	}
	if m.Metadata != nil {
		n += len(m.Metadata.Contexts) + len(m.Metadata.Attachments) + len(m.Metadata.DisplayText)
		for _, h := range m.Metadata.ToolHunks {
			for _, l := range h.Lines {
				n += 60 + len(l.Text)
			}
		}
	}
	return n
}

// idOf returns the id of the tool or request of an open event.
func idOf(f *Frame) string {
	switch p := f.Payload.(type) {
	case toolStartPayload:
		return p.CallID
	case ToolUpdatePayload:
		return p.CallID
	case permissionPayload:
		return p.RequestID
	case QuestionPayload:
		return p.RequestID
	}
	return ""
}

// remove removes and returns an open event, nil if there is none.
func (v *View) remove(kind, id string) *Frame {
	i := slices.IndexFunc(v.open, func(f Frame) bool { return f.Type == kind && idOf(&f) == id })
	if i < 0 {
		return nil
	}
	gone := v.open[i]
	v.open = slices.Delete(slices.Clone(v.open), i, i+1)
	return &gone
}

// toolEnded adds the messages of a tool: its call, which shares a message with the other tools of
// the step, and its result.
func (v *View) toolEnded(f Frame, p toolEndPayload) {
	v.remove(TypeToolUpdate, p.CallID)
	args := json.RawMessage("{}")
	if start := v.remove(typeToolStart, p.CallID); start != nil {
		was, _ := start.Payload.(toolStartPayload) // always
		args = was.Args
	}
	id := "m" + strconv.FormatInt(f.Seq, 10)
	call := toolCall{p.CallID, "function", called{p.Tool, string(args)}}
	if calls := v.stepCalls(); calls >= 0 {
		shared := *v.Messages[calls]
		shared.ToolCalls = append(slices.Clip(shared.ToolCalls), call)
		v.Messages = slices.Clone(v.Messages)
		v.Messages[calls] = &shared
		v.bytes += 100 + len(args)
	} else {
		v.add(&Message{Role: transcript.RoleAssistant, ID: id + "c", Timestamp: StampOf(f.At), TimestampMS: f.At, ToolCalls: []toolCall{call}})
	}
	v.add(&Message{
		Role: "tool", Content: p.OutputTail, ID: id, Timestamp: StampOf(f.At), TimestampMS: f.At, ToolCallID: p.CallID, Tool: p.Tool,
		Metadata: &metadata{ToolSuccess: &p.Success, ToolSummary: &p.Summary, ToolHunks: p.Hunks},
	})
	v.step = true
}

// stepCalls returns the index of the message with the calls of the last step, -1 if there is none.
func (v *View) stepCalls() int {
	for i := len(v.Messages) - 1; v.step && i >= 0; i-- {
		if v.Messages[i].Role != "tool" {
			if len(v.Messages[i].ToolCalls) > 0 {
				return i
			}
			return -1
		}
	}
	return -1
}

func (v *View) replace(list []Message) {
	v.Messages, v.bytes, v.draft, v.step = nil, 0, nil, false
	for i := range list {
		v.add(&list[i])
		v.Count--
	}
}

func (v *View) busyChanged(f Frame, p busyPayload) {
	if !p.Busy {
		v.Busy = nil
		v.draft = nil
		return
	}
	if v.Busy == nil {
		v.Turns++
	}
	v.Busy = &f
}

// Waits returns what the turn waits for, according to the open requests.
func (v *View) Waits() string {
	for i := range v.open {
		switch v.open[i].Type {
		case typePermissionRequest:
			return "waiting_permission"
		case typeQuestionRequest:
			return "waiting_question"
		}
	}
	return ""
}

// Asked returns the open requests.
func (v *View) Asked() (list []Frame) {
	for _, f := range v.open {
		if f.Type == typePermissionRequest || f.Type == typeQuestionRequest {
			list = append(list, f)
		}
	}
	return list
}

// list returns the messages as values.
func (v *View) list() []Message {
	list := make([]Message, len(v.Messages))
	for i, m := range v.Messages {
		list[i] = *m
	}
	return list
}

// Events returns the open events in order. The messages contain none of them.
func (v *View) Events() []Frame {
	list := []Frame{}
	if v.Busy != nil {
		list = append(list, *v.Busy)
	}
	list = append(list, v.open...)
	if v.draft != nil {
		list = append(list, v.draft.event())
	}
	slices.SortStableFunc(list, func(a, b Frame) int { return cmp.Compare(a.Seq, b.Seq) })
	return list
}
