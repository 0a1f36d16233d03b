package transcript

// The decoder of ACP, the Agent Client Protocol: session/update, and tools that an agent first
// names in a permission request.

import (
	"encoding/json"
	"slices"
	"strings"

	"ac/runs/failure"
)

const (
	// acpPlan is the id of a session's only plan.
	acpPlan = "plan"
	// acpAsks is the origin of a tool call named in a permission request.
	acpAsks = "request_permission"
)

// acp decodes the agent's side of the protocol.
type acp struct {
	// history means that no turn has begun since the conversation was resumed, so updates are a
	// replay.
	history bool
}

func (a *acp) turn() { a.history = false }

func (a *acp) clone() decoder { return &acp{a.history} }

func (a *acp) message(s *Session, line []byte) {
	m, ok := readRPC(line)
	switch {
	case !ok:
	case m.method == "session/update":
		a.update(s, m.params)
	case m.method == "session/request_permission":
		a.permission(s, m.params)
	case m.method == "":
		a.answer(s, m)
	}
}

// answer handles a response: session/new returns the conversation id, session/prompt ends the
// message.
func (a *acp) answer(s *Session, m rpcMessage) {
	var r struct {
		SessionID  string `json:"sessionId"`
		StopReason string `json:"stopReason"`
	}
	_ = json.Unmarshal(m.result, &r) // an error has no result
	s.conversation(r.SessionID)
	switch {
	case r.StopReason == "refusal":
		s.failure.Final(firstOf(s.facts.Answer, "the model refused to answer"), 0, failure.Refused)
	case r.StopReason != "":
		s.failure.Recovered()
	case m.error != nil:
		var e struct {
			Message string `json:"message"`
			Details struct {
				Details string `json:"details"`
			} `json:"data"`
		}
		if json.Unmarshal(m.error, &e) == nil {
			s.failure.Report(strings.TrimSpace(e.Message+" "+e.Details.Details), 0, "")
		}
	}
	if r.StopReason != "" || m.error != nil {
		a.endSaid(s, "")
	}
}

// acpUpdate is any session/update.
type acpUpdate struct {
	Kind      string          `json:"sessionUpdate"`
	MessageID string          `json:"messageId"`
	Content   json.RawMessage `json:"content"` // a block, or a tool's list of them
	Entries   []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
	acpCall
}

func (a *acp) update(s *Session, params []byte) {
	var p struct {
		SessionID string    `json:"sessionId"`
		Update    acpUpdate `json:"update"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.conversation(p.SessionID)
	if a.history {
		return
	}
	u := &p.Update
	switch u.Kind {
	case "agent_message_chunk":
		a.chunk(s, KindMessage, u)
	case "agent_thought_chunk":
		a.chunk(s, KindReasoning, u)
	case "user_message_chunk":
		a.endSaid(s, "")
		s.echo("", acpText(u.Content))
	case "tool_call", "tool_call_update":
		a.endSaid(s, "")
		a.call(s, &u.acpCall, u.Content, u.Kind)
	case "plan":
		steps := []Step{}
		for _, e := range u.Entries {
			steps = append(steps, Step{e.Content, e.Status})
		}
		s.planned(acpPlan, steps)
	}
}

// chunk appends to the agent's current message. It starts a new one after a tool call, another
// kind of item, or a turn.
func (a *acp) chunk(s *Session, kind string, u *acpUpdate) {
	text := acpText(u.Content)
	if text == "" {
		var block struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(u.Content, &block) == nil && block.Type != "" && block.Type != "text" {
			s.notice("[" + block.Type + "]")
		}
		return
	}
	a.endSaid(s, kind)
	item := s.newest(func(i *Item) bool { return i.Kind == kind && (u.MessageID == "" || i.own == u.MessageID) })
	if item == nil {
		item = s.open(Item{ID: u.MessageID, Kind: kind, Role: RoleAssistant})
	}
	s.append(item, text)
}

// endSaid closes the agent's open messages and reasoning, except items of one kind.
func (a *acp) endSaid(s *Session, but string) {
	for _, item := range slices.Clone(s.items) {
		if (item.Kind == KindMessage || item.Kind == KindReasoning) && item.Kind != but {
			s.close(item)
		}
	}
}

// permission opens the tool that a permission request names, unless it is known.
func (a *acp) permission(s *Session, params []byte) {
	var p struct {
		SessionID string `json:"sessionId"`
		Call      struct {
			Content json.RawMessage `json:"content"`
			acpCall
		} `json:"toolCall"`
	}
	if json.Unmarshal(params, &p) != nil || a.history {
		return
	}
	a.endSaid(s, "")
	a.call(s, &p.Call.acpCall, p.Call.Content, acpAsks)
}

// acpText returns the text of a content block.
func acpText(raw json.RawMessage) string {
	var block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &block) != nil || block.Type != "text" {
		return ""
	}
	return block.Text
}
