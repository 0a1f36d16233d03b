package comma

// Streaming an agent's call: the transcript of each attempt, as events of the protocol.

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"ac/events"
	"ac/runs/interaction"
	"ac/runs/transcript"
	"ac/workspace/doc"
)

// maxPiece limits the text of one event, maxDiff the diff of a file change, in bytes.
const (
	maxPiece = 64 << 10
	maxDiff  = 16 << 10
)

// notFinished is the error of a tool that was still running when its call ended.
const notFinished = "not finished"

// agentCall is the state of streaming one call of an agent.
type agentCall struct {
	name, model string
	attempts    []attempt
}

// attempt is the state of streaming one attempt: a cursor in its log, and what was sent.
type attempt struct {
	run   string
	seq   int64
	fold  *transcript.Fold
	asked interaction.Fold
	said  map[string]int       // bytes sent of each text, by item
	open  map[string]*openTool // by item
	order []string             // of the open tools, by item
	fresh bool                 // a tool has closed since the agent's last text
}

// openTool is a running tool.
type openTool struct {
	name, tail string
	called     bool
}

// attempt starts streaming an attempt of a step.
func (f *subscription) attempt(step, run string) error {
	s, ok := f.step(step)
	if !ok {
		return errNotYet
	}
	call := f.calls[step]
	if call == nil {
		v, err := f.view(s.Round)
		if err != nil {
			return err
		}
		call = &agentCall{name: v.label(s.Path), model: f.server.model(f.live, s.AgentID, v.task(s.Path))}
		f.calls[step] = call
	}
	call.attempts = append(call.attempts, attempt{
		run: run, fold: transcript.NewFold(f.server.ProjectID).Fork(), asked: interaction.Fold{Project: f.server.ProjectID, Run: run},
		said: map[string]int{}, open: map[string]*openTool{},
	})
	f.stream(call, plainEvent{"step-start"})
	return nil
}

// stream sends an event of a call.
func (f *subscription) stream(call *agentCall, event any) {
	f.say(nil, "agent_streaming", agentStreaming{f.run, call.name, call.model, event})
}

// drain sends everything new in the logs of a call's attempts.
func (f *subscription) drain(call *agentCall) error {
	for i := range call.attempts {
		a := &call.attempts[i]
		for more := true; more; {
			page, err := f.read(f.live, a.run, a.seq, logPage)
			if err != nil {
				return err
			}
			for _, e := range page.Events {
				f.line(call, a, e.Seq, e.Event)
				a.seq = e.Seq
			}
			a.seq, more = max(a.seq, page.NextSeq), page.More
		}
	}
	return nil
}

// line sends what an event of an attempt changes.
func (f *subscription) line(call *agentCall, a *attempt, seq int64, line []byte) {
	kind := events.Type(line)
	for _, change := range a.fold.Line(seq, line) {
		f.change(call, a, change)
	}
	switch kind {
	case events.InteractionRequested, events.InteractionResolved:
		if open := a.asked.Apply(line); open != nil && open.State == interaction.Open {
			f.prompt(*open, call.name)
		}
	case events.RunPolicyChanged:
		var e logged
		if json.Unmarshal(line, &e) == nil {
			f.policyChanged(e.Payload)
		}
	}
}

// change sends a change of the transcript.
func (f *subscription) change(call *agentCall, a *attempt, c transcript.Change) {
	if c.Item == nil || c.Item.Parent != "" {
		return // a subagent's items are not part of the agent's answer
	}
	switch {
	case c.Item.Kind == transcript.KindMessage && c.Item.Role == transcript.RoleAssistant:
		if a.fresh && c.Op != transcript.Append {
			a.fresh = false
			f.stream(call, plainEvent{"step-start"})
		}
		for _, piece := range a.pieces(c) {
			f.stream(call, textEvent{"text", piece})
		}
	case c.Item.Kind == transcript.KindReasoning:
		f.thought(call, a, c)
	case c.Item.Tool != nil && (c.Item.Kind == transcript.KindTool || c.Item.Kind == transcript.KindFileChange):
		f.tool(call, a, c)
	}
}

// pieces returns the part of a text that the client does not have yet, in pieces.
func (a *attempt) pieces(c transcript.Change) (list []string) {
	id, text := c.Item.ID, c.Text
	switch {
	case c.Op != transcript.Append:
		text = c.Item.Text[min(a.said[id], len(c.Item.Text)):]
	case c.Field != transcript.FieldText:
		return nil
	}
	a.said[id] += len(text)
	for len(text) > 0 {
		n := min(len(text), maxPiece)
		if n < len(text) {
			n = len(strings.ToValidUTF8(text[:n], ""))
		}
		list, text = append(list, text[:n]), text[n:]
	}
	return list
}

// thought sends an agent's reasoning.
func (f *subscription) thought(call *agentCall, a *attempt, c transcript.Change) {
	id := c.Item.ID
	if _, known := a.said[id]; !known {
		a.said[id] = 0
		f.stream(call, thinkingEvent{Type: "thinking-start", ID: id})
	}
	for _, piece := range a.pieces(c) {
		f.stream(call, thinkingEvent{Type: "thinking", ID: id, Text: &piece})
	}
	if c.Op == transcript.Close {
		f.stream(call, thinkingEvent{Type: "thinking-end", ID: id})
	}
}

// tool sends an agent's use of a tool, or its change of a file.
func (f *subscription) tool(call *agentCall, a *attempt, c transcript.Change) {
	id := c.Item.ID
	t := a.open[id]
	if t == nil {
		if c.Op == transcript.Append || c.Op == transcript.Update && c.Item.State == transcript.StateClosed {
			return // it already ended
		}
		t = &openTool{name: toolName(c.Item)}
		a.open[id], a.order = t, append(a.order, id)
	}
	if c.Op == transcript.Append {
		t.tail += c.Text
		t.tail = t.tail[max(0, len(t.tail)-maxDiff):]
		return
	}
	t.tail = c.Item.Tool.OutputTail
	if args := argsOf(c.Item); !t.called && (args != "{}" || c.Op == transcript.Close) {
		t.called = true
		f.stream(call, toolCall{"tool-call", id, t.name, args})
	}
	if c.Op != transcript.Close {
		return
	}
	delete(a.open, id)
	a.fresh = true
	f.stream(call, resultOfTool(c.Item))
}

// toolName returns the name of a tool for clients.
func toolName(item *transcript.Item) string {
	if item.Kind == transcript.KindFileChange {
		return transcript.KindFileChange
	}
	return cmp.Or(item.Tool.Name, item.Tool.Kind, "tool")
}

// argsOf returns the input of a tool as JSON text.
func argsOf(item *transcript.Item) string {
	if item.Kind == transcript.KindFileChange {
		if len(item.Tool.Locations) == 0 {
			return "{}"
		}
		text, _ := json.Marshal(map[string]string{"path": item.Tool.Locations[0].Path}) // a text always encodes
		return string(text)
	}
	if len(item.Tool.Input) == 0 {
		return "{}"
	}
	return string(item.Tool.Input)
}

// outputOf returns the output of a tool, or the diff of a file change.
func outputOf(item *transcript.Item) string {
	if item.Kind != transcript.KindFileChange {
		return item.Tool.OutputTail
	}
	diff := item.Tool.Diff
	return strings.ToValidUTF8(diff[:min(len(diff), maxDiff)], "")
}

func resultOfTool(item *transcript.Item) toolResult {
	r := toolResult{Type: "tool-result", ToolCallID: item.ID, ToolName: toolName(item), Output: outputOf(item), Status: "completed"}
	switch item.Tool.Status {
	case transcript.ToolFailed:
		r.Status, r.Error = "error", "failed"
		if code := item.Tool.ExitCode; code != nil {
			r.Error = "exit code " + strconv.Itoa(*code)
		}
	case transcript.ToolDeclined:
		r.Status, r.Error = "error", item.Tool.Status
	case transcript.ToolCancelled:
		r.Status, r.Error = "error", notFinished
	}
	return r
}

// finish sends the end of a call.
func (f *subscription) finish(call *agentCall, s doc.FlowStep) error {
	for i := range call.attempts {
		a := &call.attempts[i]
		for _, id := range a.order {
			t := a.open[id]
			if t == nil {
				continue
			}
			if !t.called {
				f.stream(call, toolCall{"tool-call", id, t.name, "{}"})
			}
			f.stream(call, toolResult{"tool-result", id, t.name, strings.ToValidUTF8(t.tail, ""), "error", notFinished})
		}
		a.open, a.order = map[string]*openTool{}, nil
	}
	if s.Status != doc.StepSucceeded {
		return nil
	}
	used, err := f.server.usageOf(f.live, s.JobID)
	if err != nil {
		return err
	}
	f.say(nil, "agent_output", agentOutput{f.run, call.name, call.model, s.Text, used})
	f.stream(call, doneEvent{"done", resultOf(s.Text, used)})
	return nil
}
