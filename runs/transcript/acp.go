package transcript

// ACP, the agent client protocol: what an agent says in session/update, and the tools
// that it first names where it asks for permission.

import (
	"encoding/json"
	"slices"
	"strings"

	"ac/runs/failure"
)

const (
	// acpPlan is the id of the one plan of a session.
	acpPlan = "plan"
	// acpAsks is where a tool is named beside updates.
	acpAsks = "request_permission"
)

// acp reads the agent's side of the protocol.
type acp struct {
	// history says that no turn began since the conversation was taken up: what comes
	// is played again.
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

// answer takes the answer to a request of ours: of session/new the conversation, of
// session/prompt the end of what was said.
func (a *acp) answer(s *Session, m rpcMessage) {
	var r struct {
		SessionID  string `json:"sessionId"`
		StopReason string `json:"stopReason"`
	}
	_ = json.Unmarshal(m.result, &r) // absent in an error
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
	Content   json.RawMessage `json:"content"` // a block, or those of a tool
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

// chunk appends to what the agent says, or begins a new message: after a tool call,
// another kind or a turn.
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

// endSaid closes what the agent was saying, but for one kind.
func (a *acp) endSaid(s *Session, but string) {
	for _, item := range slices.Clone(s.items) {
		if (item.Kind == KindMessage || item.Kind == KindReasoning) && item.Kind != but {
			s.close(item)
		}
	}
}

// permission opens the tool that the agent asks for, where it was not named before.
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

// acpText is the text of a content block.
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
