package acecode

// The view: what a client that got all events of a session shows. The snapshot is it, so
// that both agree.

import (
	"encoding/json"
	"slices"
	"strconv"

	"ac/runs/transcript"
)

// Bounds of the messages of a snapshot. The oldest go first.
const (
	maxMessages     = 2000
	maxMessageBytes = 8 << 20
)

// view is the state of a session that its events make. What it holds is shared between
// copies and not changed.
type view struct {
	messages  []*message
	bytes     int
	truncated bool
	count     int // messages ever

	draft   *draft  // the answer that is open
	open    []frame // tool_start, tool_update and what is asked, in order
	busy    *frame  // of the running turn
	turns   int
	step    bool // the last messages are a step of tools
	title   string
	first   string // the first text of a person
	todos   []todo
	summary todoSummary
	used    *turnTokens
	last    int64 // milliseconds of the newest event
}

func (v *view) clone() *view {
	c := *v
	c.messages, c.open = slices.Clip(v.messages), slices.Clone(v.open)
	if v.draft != nil {
		c.draft = &draft{slices.Clip(v.draft.text), v.draft.frame}
	}
	return &c
}

// apply takes the next event.
func (v *view) apply(f frame) {
	v.last = f.At
	switch p := f.Payload.(type) {
	case textPayload:
		if f.Type == typeToken {
			v.token(f, p)
		}
	case messagePayload:
		v.draft, v.step = nil, false
		if p.Role == transcript.RoleUser && v.first == "" {
			v.first = p.Content
		}
		v.add(&p.Message)
	case toolStartPayload:
		v.open = append(v.open, f)
	case toolUpdatePayload:
		v.remove(typeToolUpdate, p.CallID)
		v.open = append(v.open, f)
	case toolEndPayload:
		v.toolEnded(f, p)
	case permissionPayload, questionPayload:
		v.open = append(v.open, f)
	case permissionClosedPayload:
		v.remove(typePermissionRequest, p.RequestID)
	case questionClosedPayload:
		v.remove(typeQuestionRequest, p.RequestID)
	case usagePayload:
		v.used = &p.turnTokens
	case todosPayload:
		v.todos, v.summary = p.Todos, p.Summary
	case sessionPayload:
		v.title = p.Title
	case replacePayload:
		v.replace(p.Messages)
	case busyPayload:
		v.busyChanged(f, p)
	}
}

// draft is the text so far of an answer, with the event that brought its end.
type draft struct {
	text []byte
	frame
}

func (v *view) token(f frame, p textPayload) {
	d := &draft{frame: f}
	if v.draft != nil {
		d.text = v.draft.text
	}
	d.text = append(d.text, p.Text...)
	v.draft = d
}

// event is one event for all of the text.
func (d *draft) event() frame {
	f := d.frame
	p, _ := f.Payload.(textPayload) // it is one
	p.Text = string(d.text)
	p.Delta = p.Text
	f.Payload = p
	return f
}

// drafted is the item of the answer that is open, "" for none.
func (v *view) drafted() string {
	if v.draft == nil {
		return ""
	}
	p, _ := v.draft.Payload.(textPayload) // it is one
	return p.ItemID
}

// drop forgets the answer that is open.
func (v *view) drop() { v.draft = nil }

func (v *view) add(m *message) {
	v.messages = append(v.messages, m)
	v.count++
	v.bytes += sizeOf(m)
	v.trim()
}

// trim lets go of the oldest messages where there are too many.
func (v *view) trim() {
	n := max(0, len(v.messages)-maxMessages)
	for _, m := range v.messages[:n] {
		v.bytes -= sizeOf(m)
	}
	for v.bytes > maxMessageBytes && n < len(v.messages)-1 {
		v.bytes -= sizeOf(v.messages[n])
		n++
	}
	if n > 0 {
		v.messages, v.truncated = v.messages[n:], true
	}
}

// sizeOf is about how long a message is, in bytes.
func sizeOf(m *message) int {
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

// idOf is the id of what an open event is about.
func idOf(f *frame) string {
	switch p := f.Payload.(type) {
	case toolStartPayload:
		return p.CallID
	case toolUpdatePayload:
		return p.CallID
	case permissionPayload:
		return p.RequestID
	case questionPayload:
		return p.RequestID
	}
	return ""
}

// remove takes an open event out, nil where it is not there.
func (v *view) remove(kind, id string) *frame {
	i := slices.IndexFunc(v.open, func(f frame) bool { return f.Type == kind && idOf(&f) == id })
	if i < 0 {
		return nil
	}
	gone := v.open[i]
	v.open = slices.Delete(slices.Clone(v.open), i, i+1)
	return &gone
}

// toolEnded makes messages of a tool: its call, which it shares with the other tools of a
// step, and its result.
func (v *view) toolEnded(f frame, p toolEndPayload) {
	v.remove(typeToolUpdate, p.CallID)
	args := json.RawMessage("{}")
	if start := v.remove(typeToolStart, p.CallID); start != nil {
		was, _ := start.Payload.(toolStartPayload) // it is one
		args = was.Args
	}
	id := "m" + strconv.FormatInt(f.Seq, 10)
	call := toolCall{p.CallID, "function", called{p.Tool, string(args)}}
	if calls := v.stepCalls(); calls >= 0 {
		shared := *v.messages[calls]
		shared.ToolCalls = append(slices.Clip(shared.ToolCalls), call)
		v.messages = slices.Clone(v.messages)
		v.messages[calls] = &shared
		v.bytes += 100 + len(args)
	} else {
		v.add(&message{Role: transcript.RoleAssistant, ID: id + "c", Timestamp: stampOf(f.At), TimestampMS: f.At, ToolCalls: []toolCall{call}})
	}
	v.add(&message{
		Role: "tool", Content: p.OutputTail, ID: id, Timestamp: stampOf(f.At), TimestampMS: f.At, ToolCallID: p.CallID, Tool: p.Tool,
		Metadata: &metadata{ToolSuccess: &p.Success, ToolSummary: &p.Summary, ToolHunks: p.Hunks},
	})
	v.step = true
}

// stepCalls is where the message with the calls of the last step stands, -1 for none.
func (v *view) stepCalls() int {
	for i := len(v.messages) - 1; v.step && i >= 0; i-- {
		if v.messages[i].Role != "tool" {
			if len(v.messages[i].ToolCalls) > 0 {
				return i
			}
			return -1
		}
	}
	return -1
}

func (v *view) replace(list []message) {
	v.messages, v.bytes, v.draft, v.step = nil, 0, nil, false
	for i := range list {
		v.add(&list[i])
		v.count--
	}
}

func (v *view) busyChanged(f frame, p busyPayload) {
	if !p.Busy {
		v.busy = nil
		v.draft = nil
		return
	}
	if v.busy == nil {
		v.turns++
	}
	v.busy = &f
}

// waits is what the turn waits for by what is open.
func (v *view) waits() string {
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

// asked are the open requests.
func (v *view) asked() (list []frame) {
	for _, f := range v.open {
		if f.Type == typePermissionRequest || f.Type == typeQuestionRequest {
			list = append(list, f)
		}
	}
	return list
}

// list are the messages as values.
func (v *view) list() []message {
	list := make([]message, len(v.messages))
	for i, m := range v.messages {
		list[i] = *m
	}
	return list
}

// events are what is open, in order, none of which the messages have.
func (v *view) events() []frame {
	list := []frame{}
	if v.busy != nil {
		list = append(list, *v.busy)
	}
	list = append(list, v.open...)
	if v.draft != nil {
		list = append(list, v.draft.event())
	}
	slices.SortStableFunc(list, func(a, b frame) int { return int(a.Seq - b.Seq) })
	return list
}
