package transcript

// The decoder of codex app-server: notifications about items, and their texts in pieces.

import (
	"encoding/json"
	"strings"

	"ac/internal/canonjson"
)

// appServer decodes codex app-server.
type appServer struct{}

func (*appServer) turn() {}

func (*appServer) clone() decoder { return &appServer{} }

// rpcMessage is a JSON-RPC line of either variant. Its parts are undecoded.
type rpcMessage struct {
	method                    string
	id, params, result, error []byte
}

// readRPC decodes the envelope of a message. ok is false if the line is not an object.
func readRPC(line []byte) (m rpcMessage, ok bool) {
	err := canonjson.Members(line, func(member canonjson.Member) {
		switch string(member.Key) {
		case "method":
			if member.Value[0] == '"' {
				m.method = canonjson.Unquote(member.Value)
			}
		case "id":
			m.id = member.Value
		case "params":
			m.params = member.Value
		case "result":
			m.result = member.Value
		case "error":
			m.error = member.Value
		}
	})
	return m, err == nil
}

func (a *appServer) message(s *Session, line []byte) {
	m, ok := readRPC(line)
	switch {
	case !ok:
	case m.method == "":
		var r struct {
			Thread struct {
				ID string `json:"id"`
			} `json:"thread"`
		}
		if json.Unmarshal(m.result, &r) == nil {
			s.conversation(r.Thread.ID)
		}
	case m.id != nil: // our own events cover the agent's requests
	case strings.HasPrefix(m.method, "item/"):
		a.item(s, m)
	default:
		a.notification(s, m)
	}
}

// item handles a notification about an item.
func (a *appServer) item(s *Session, m rpcMessage) {
	var p struct {
		thread, id, delta string
		item              []byte
	}
	if !members(m.params, func(name, value []byte) {
		switch string(name) {
		case "threadId":
			p.thread = textOf(value)
		case "itemId":
			p.id = textOf(value)
		case "delta":
			p.delta = textOf(value)
		case "item":
			p.item = value
		}
	}) {
		return
	}
	s.parent = s.other(p.thread)
	defer func() { s.parent = "" }()
	if begins, done := m.method == "item/started", m.method == "item/completed"; begins || done {
		item := readCodexItem(p.item)
		s.codexItem(&item, begins, done)
	} else if !s.isClosed(p.id) {
		s.codexPiece(m.method, p.id, p.delta)
	}
}

// codexPiece handles a piece of an item.
func (s *Session) codexPiece(method, id, delta string) {
	switch method {
	case "item/agentMessage/delta":
		s.codexDelta(id, KindMessage, delta)
	case "item/plan/delta":
		s.codexDelta(id, KindPlan, delta)
	case "item/reasoning/textDelta", "item/reasoning/summaryTextDelta":
		s.codexDelta(id, KindReasoning, delta)
	case "item/reasoning/summaryPartAdded":
		if item := s.find(id); item != nil && item.Text != "" {
			s.append(item, "\n\n")
		}
	case "item/commandExecution/outputDelta", "item/fileChange/outputDelta":
		if item := s.find(id); item != nil {
			s.appendOutput(item, delta)
		}
	}
}

// other returns the thread of a subagent, "" for our own thread.
func (s *Session) other(thread string) string {
	if s.facts.Conversation == "" || thread == s.facts.Conversation {
		return ""
	}
	return thread
}

// codexDelta handles a piece of a text. Older servers omit the item's id: the piece then belongs
// to the newest open item of its kind.
func (s *Session) codexDelta(id, kind, delta string) {
	item := s.find(id)
	if id == "" {
		item = s.newest(func(i *Item) bool { return i.Kind == kind })
	}
	if item == nil {
		item = s.open(Item{ID: id, Kind: kind, Role: RoleAssistant})
	}
	s.append(item, delta)
}

// notification handles notifications that are not about an item.
func (a *appServer) notification(s *Session, m rpcMessage) {
	switch m.method {
	case "turn/plan/updated", "turn/diff/updated", "turn/completed", "error", "warning", "guardianWarning", "model/rerouted":
	default:
		return
	}
	var p struct {
		ThreadID  string      `json:"threadId"`
		TurnID    string      `json:"turnId"`
		Diff      string      `json:"diff"`
		Message   string      `json:"message"`
		Summary   string      `json:"summary"`
		From      string      `json:"fromModel"`
		To        string      `json:"toModel"`
		WillRetry bool        `json:"willRetry"`
		Error     *codexError `json:"error"`
		Turn      codexTurn   `json:"turn"`
		Plan      []struct {
			Step   string `json:"step"`
			Status string `json:"status"`
		} `json:"plan"`
	}
	if json.Unmarshal(m.params, &p) != nil || s.other(p.ThreadID) != "" {
		return
	}
	switch m.method {
	case "turn/plan/updated":
		steps := []Step{}
		for _, step := range p.Plan {
			if step.Status == "inProgress" {
				step.Status = ToolInProgress
			}
			steps = append(steps, Step{step.Step, step.Status})
		}
		s.planned("turn-"+p.TurnID+"-plan", steps)
	case "turn/diff/updated":
		if item := s.edited; item != nil && item.Tool != nil {
			before := item.Tool.Diff
			if item.Tool.setDiff(p.Diff); item.Tool.Diff != before {
				s.update(item)
			}
		}
	case "turn/completed":
		s.codexTurnOver(&p.Turn)
	case "error":
		s.codexFailed(p.Error, p.WillRetry)
	case "model/rerouted":
		s.notice("The model was changed from " + firstOf(p.From, "?") + " to " + firstOf(p.To, "?") + ".")
	default:
		s.notice(firstOf(p.Message, p.Summary))
	}
}

// planned sets the steps of a plan.
func (s *Session) planned(id string, steps []Step) {
	if s.isClosed(id) {
		return
	}
	item := s.find(id)
	if item == nil {
		item = s.open(Item{ID: id, Kind: KindPlan, Role: RoleAssistant})
	}
	item.setPlan(steps)
	s.update(item)
}

// codexTurn is the result of a turn.
type codexTurn struct {
	Status string      `json:"status"`
	Error  *codexError `json:"error"`
}

func (s *Session) codexTurnOver(turn *codexTurn) {
	for i := 0; i < len(s.items); {
		if s.items[i].Kind == KindPlan {
			s.close(s.items[i])
			continue
		}
		i++
	}
	switch {
	case turn.Error != nil && turn.Error.Message != "":
		s.failure.Final(turn.Error.Message, turn.Error.status(), turn.Error.code())
	case turn.Status == "completed":
		s.failure.Recovered()
	}
	s.edited = nil
}

func (s *Session) codexFailed(e *codexError, retried bool) {
	if e == nil {
		return
	}
	s.notice(e.Message)
	text := e.Message
	if retried && e.Additional != "" {
		text = e.Additional
	}
	s.failure.Report(text, e.status(), e.code())
}
