package frames

// The events for changes of transcript items.

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"ac/internal/clip"
	"ac/internal/clock"
	"ac/runs/interaction"
	"ac/runs/transcript"
	"ac/workspace/doc"
)

// change sends the events for one change of an item.
func (m *Mapper) change(c *transcript.Change) {
	item := c.Item
	switch item.Kind {
	case transcript.KindMessage:
		if item.Role == transcript.RoleAssistant {
			m.says(c, TypeToken)
		} else if c.Op == transcript.Close && item.Note == "" {
			m.userSaid(item)
		}
	case transcript.KindReasoning:
		m.says(c, typeReasoning)
	case transcript.KindTool, transcript.KindFileChange:
		m.works(c)
	case transcript.KindPlan:
		m.plans(item)
	case transcript.KindPermission, transcript.KindQuestion:
		m.asks(c)
	case transcript.KindNotice:
		if c.Op == transcript.Close {
			m.notice(item.Text)
		}
	case transcript.KindUsage:
		if m.Turn > 0 && item.Turn == m.Turn {
			m.used = item.Usage
		}
	}
}

// userSaid sends a person's text. If the session has no title, it also sends a title made from the
// text.
func (m *Mapper) userSaid(item *transcript.Item) {
	about := &metadata{DisplayText: item.Text, Truncated: item.Truncated}
	var kept struct {
		Contexts    json.RawMessage `json:"contexts"`
		Attachments json.RawMessage `json:"attachments"`
		Client      string          `json:"client_message_id"`
	}
	if json.Unmarshal(item.DisplayMeta, &kept) == nil {
		about.Contexts, about.Attachments = arrayOf(kept.Contexts), arrayOf(kept.Attachments)
	}
	about.ClientMessageID = cmp.Or(m.clients[item.ID], kept.Client)
	delete(m.clients, item.ID)
	delete(m.waiting, item.ID)
	m.message(transcript.RoleUser, item.Text, about)
	if m.View.Title == "" {
		if title := titleOf(item.Text); title != "" {
			m.send(TypeSession, SessionPayload{title, m.place})
		}
	}
}

// notice sends what is not part of the conversation: the agent's retries, and system messages.
func (m *Mapper) notice(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if word := strings.ToLower(clip.Head(text, 40)); strings.HasPrefix(word, "reconnecting") || strings.HasPrefix(word, "retrying") {
		m.send(typeProgress, progressPayload{"retrying", OneLine(text, maxPreview), m.place})
		return
	}
	m.system(text)
}

// says sends an agent's text, piece by piece, and the whole message when it is complete. It ignores
// the texts of sub-agents.
func (m *Mapper) says(c *transcript.Change, kind string) {
	item := c.Item
	if item.Parent != "" {
		return
	}
	m.closeSaid(item.ID)
	s := m.said[item.ID]
	if s == nil {
		if c.Op != transcript.Open && c.Op != transcript.Close {
			return // the turn ended, and with it the item for the client
		}
		s = &sent{}
		m.said[item.ID] = s
	}
	switch {
	case c.Op == transcript.Append:
		if c.Field == transcript.FieldText {
			m.piece(kind, item.ID, s, c.Text)
		}
		return
	case kind == typeReasoning:
		if !s.any {
			m.piece(kind, item.ID, s, item.Text)
		}
	default:
		m.text(item, s, c.Op == transcript.Close)
	}
	if c.Op == transcript.Close {
		delete(m.said, item.ID)
	}
}

func (m *Mapper) piece(kind, id string, s *sent, text string) {
	if text == "" {
		return
	}
	s.text, s.any = append(s.text, text...), true
	m.send(kind, TextPayload{text, text, id, m.place})
}

// text sends the new part of an answer's whole text. If the text does not begin with what was sent,
// it replaces the transcript first.
func (m *Mapper) text(item *transcript.Item, s *sent, over bool) {
	whole := item.Text
	if len(whole) < s.before {
		s.before = 0
		s.any = false
		s.text = nil
	}
	rest := whole[s.before:]
	if !strings.HasPrefix(rest, string(s.text)) {
		m.View.drop()
		m.send(typeReplace, replacePayload{m.View.list(), m.place})
		s.text = nil
	}
	if !over {
		m.piece(TypeToken, item.ID, s, rest[len(s.text):])
		return
	}
	if len(s.text) > 0 || rest != "" && (s.before == 0 || strings.TrimSpace(rest) != "") {
		var about *metadata
		if item.Truncated {
			about = &metadata{Truncated: true}
		}
		m.message(transcript.RoleAssistant, rest, about)
	}
}

// closeSaid completes the message that the client is receiving, unless it belongs to the item but.
// The agent has begun something else, so a later addition becomes a new message.
func (m *Mapper) closeSaid(but string) {
	id := m.View.drafted()
	if s := m.said[id]; s != nil && id != but && len(s.text) > 0 {
		m.message(transcript.RoleAssistant, string(s.text), nil)
		s.before, s.text = s.before+len(s.text), nil
	}
}

// works sends what a tool does. If the agent has sent only the tool's name so far, the start is
// sent with the next change.
func (m *Mapper) works(c *transcript.Change) {
	item := c.Item
	w := m.running[item.ID]
	if w == nil {
		if c.Op != transcript.Open {
			return // the turn ended, and with it the item for the client
		}
		m.closeSaid("")
		m.tools++
		w = &work{index: m.tools - 1, started: m.at}
		m.running[item.ID] = w
	}
	if c.Op == transcript.Append {
		m.update(item.ID, w, c.Text)
		return
	}
	w.item = item
	if c.Op != transcript.Open || item.Tool.Status != transcript.ToolPending || len(item.Tool.Input) > 2 {
		m.begin(w)
	}
	switch {
	case c.Op == transcript.Close:
		m.endTool(w)
	case item.Tool.OutputBytes > w.bytes:
		m.update(item.ID, w, clip.Tail(item.Tool.OutputTail, int(min(item.Tool.OutputBytes-w.bytes, maxOutput))))
	}
}

// begin sends the start of a tool.
func (m *Mapper) begin(w *work) {
	if w.begun {
		return
	}
	m.closeSaid("")
	t := w.item.Tool
	w.begun = true
	m.send(typeToolStart, toolStartPayload{
		Tool: toolName(t), ProviderTool: t.Name, Args: argsOf(t), CommandPreview: previewOf(t), Preview: previewOf(t), CallID: w.item.ID, Index: w.index, Place: m.place,
	})
}

// update sends a tool's new output.
func (m *Mapper) update(id string, w *work, text string) {
	if text == "" || w.item == nil {
		return
	}
	m.begin(w)
	w.bytes += int64(len(text))
	w.lines += int64(strings.Count(text, "\n"))
	shown := w.item.Tool
	shown.OutputTail = clip.Tail(shown.OutputTail+text, 16<<10) // the mapper's own copy
	lines, partial := lastLines(shown.OutputTail)
	m.send(TypeToolUpdate, ToolUpdatePayload{
		Tool: toolName(shown), CallID: id, TailLines: lines, Partial: partial, TotalLines: w.lines, TotalBytes: w.bytes, Elapsed: m.since(w.started),
		Chunk: clip.Tail(text, maxOutput), Place: m.place,
	})
}

// since returns the seconds from a time to the current line.
func (m *Mapper) since(ms int64) float64 {
	return math.Round(float64(max(0, m.at-ms))/100) / 10
}

// endTool sends the end of a tool.
func (m *Mapper) endTool(w *work) {
	m.begin(w)
	t := w.item.Tool
	hunks := hunksOf(t.Diff)
	ok := t.Status == transcript.ToolCompleted
	end := toolEndPayload{
		Tool: toolName(t), CallID: w.item.ID, Index: w.index, Success: ok, OK: ok, Elapsed: m.since(w.started), Summary: summaryOf(t, hunks), Hunks: hunks,
		OutputTail: clip.Tail(t.OutputTail, maxOutput), Attachments: []struct{}{}, Place: m.place,
	}
	if !ok {
		end.Output = end.OutputTail
	}
	m.send(typeToolEnd, end)
	delete(m.running, w.item.ID)
}

// endTools ends, for the client, the tools that the turn left open.
func (m *Mapper) endTools() {
	open := slices.SortedFunc(maps.Values(m.running), func(a, b *work) int { return a.index - b.index })
	for _, w := range open {
		m.endTool(w)
	}
}

// plans sends a plan if its steps have changed.
func (m *Mapper) plans(item *transcript.Item) {
	list, sum := todosOf(item.Plan)
	text, err := json.Marshal(list)
	if err != nil || string(text) == m.todos || len(list) == 0 && m.todos == "" {
		return
	}
	m.todos = string(text)
	m.send(typeTodos, todosPayload{list, sum, m.place})
}

// asks sends an agent's request, or its resolution.
func (m *Mapper) asks(c *transcript.Change) {
	record := c.Item.Interaction
	if record == nil {
		return
	}
	switch c.Op {
	case transcript.Open:
		m.closeSaid("")
		m.request(c.Item.Kind, record)
	case transcript.Close:
		m.resolved(c.Item.Kind, record)
	default: // it is still open
	}
}

func (m *Mapper) request(kind string, r *interaction.Record) {
	if kind == transcript.KindPermission {
		m.send(typePermissionRequest, m.permission(r))
		m.waitsFor("waiting_permission")
		return
	}
	m.send(typeQuestionRequest, QuestionPayload{r.InteractionID, questionsOf(r), m.place})
	m.waitsFor("waiting_question")
}

// permission returns the payload of a permission request.
func (m *Mapper) permission(r *interaction.Record) permissionPayload {
	p := permissionPayload{
		RequestID: r.InteractionID, Tool: operationTool(doc.Operation(r.Operation), r.Tool), Args: argsText(r.ArgsPreview),
		CommandPreview: OneLine(cmp.Or(r.Resource, r.Title), maxPreview), Title: r.Title, Operation: r.Operation, Diff: r.Diff,
		Options: []string{"allow", "deny", "allow_session"}, Place: m.place,
	}
	if r.Kind == interaction.Plan {
		p.Tool = "ExitPlanMode"
	}
	if w := m.running[r.ItemID]; w != nil {
		m.begin(w)
		p.CallID = r.ItemID
		if r.ArgsPreview == "" {
			p.Args = argsOf(w.item.Tool)
		}
		if r.Kind != interaction.Plan {
			p.Tool = toolName(w.item.Tool)
		}
	}
	if r.ExpiresAt != nil {
		if at, ok := clock.Parse(*r.ExpiresAt); ok {
			p.ExpiresAtMS = new(at.UnixMilli())
		}
	}
	return p
}

// questionsOf returns the questions of a request. A request for a text becomes one question without
// options.
func questionsOf(r *interaction.Record) []Question {
	list := []Question{}
	for _, q := range r.Questions {
		made := Question{ID: q.QuestionID, Text: q.Question, Question: q.Question, Options: []questionOption{}, Multi: q.Multi}
		for _, o := range q.Options {
			made.Options = append(made.Options, questionOption{o.Label, o.Label, o.Description})
		}
		list = append(list, made)
	}
	if len(list) == 0 {
		text := cmp.Or(r.Prompt, r.Title)
		list = append(list, Question{ID: InputID, Text: text, Question: text, Options: []questionOption{}})
	}
	return list
}

// closedBy returns why a request was closed, by the reason in the log.
func closedBy(reason string) string {
	switch reason {
	case interaction.Decision, "":
		return "decision"
	case interaction.Timeout:
		return "timeout"
	case interaction.PolicyChanged:
		return "permission_mode_change"
	case interaction.Interrupted, interaction.Stopped:
		return "abort"
	}
	return "session_end"
}

func (m *Mapper) resolved(kind string, r *interaction.Record) {
	by := closedBy(r.Reason)
	if kind == transcript.KindPermission {
		choice := "deny"
		if r.State == interaction.Allowed {
			choice = "allow"
		}
		m.send(typePermissionClosed, permissionClosedPayload{r.InteractionID, choice, by, m.place})
		if by == "timeout" {
			m.fail("permission_timeout", "Nobody answered in time; the request was denied.", r.InteractionID)
		}
	} else {
		reason := "cancelled"
		switch {
		case r.State == interaction.Answered:
			reason = "answered"
		case by == "timeout":
			reason = by
		case by == "abort" || by == "session_end":
			reason = "aborted"
		}
		m.send(typeQuestionClosed, questionClosedPayload{r.InteractionID, reason, m.place})
	}
	m.waitsOn()
}

// InputID is the id of the only question in a request for a text.
const InputID = "input"
