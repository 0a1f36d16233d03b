package acecode

// The frames that clients send, and their effects.

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"ac/company/orchestration"
	"ac/dialect"
	"ac/dialect/acecode/frames"
	"ac/internal/fault"
)

// clientFrame is a frame from a client.
type clientFrame struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// clientFrames returns the frames that clients send. Early ones are accepted before a session is
// bound.
func clientFrames() map[string]struct {
	early bool
	do    func(*socket, json.RawMessage)
} {
	type entry = struct {
		early bool
		do    func(*socket, json.RawMessage)
	}
	return map[string]entry{
		"hello":               {true, func(c *socket, p json.RawMessage) { c.hello("hello", p) }},
		"subscribe":           {true, func(c *socket, p json.RawMessage) { c.hello("subscribe", p) }},
		"ping":                {true, (*socket).pong},
		"status_subscribe":    {true, (*socket).watch},
		"status_unsubscribe":  {true, (*socket).unwatch},
		"mark_session_read":   {true, (*socket).markRead},
		"mark_session_unread": {true, (*socket).markUnread},
		"unsubscribe":         {false, (*socket).unsubscribe},
		"user_input":          {false, (*socket).input},
		"decision":            {false, (*socket).decide},
		"question_answer":     {false, (*socket).answer},
		"abort":               {false, (*socket).abort},
	}
}

// take handles a frame.
func (c *socket) take(text []byte) {
	var f clientFrame
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' || json.Unmarshal(text, &f) != nil {
		c.complain("", "bad json", "bad_json", "a frame must be one JSON object")
		return
	}
	if p := bytes.TrimSpace(f.Payload); len(p) == 0 || string(p) == "null" {
		f.Payload = json.RawMessage("{}")
	}
	known, ok := clientFrames()[f.Type]
	switch {
	case !ok:
		c.send(ownFrame{Type: frames.TypeError, Payload: errorFrame{"unknown type", "unknown_type", "unknown type: " + f.Type, f.Type}})
	case !known.early && !c.isBound():
		c.complain("", "send hello first", "hello_required", "send hello first")
	default:
		known.do(c, f.Payload)
	}
}

func (c *socket) pong(json.RawMessage) { c.send(ownFrame{Type: "pong", Payload: struct{}{}}) }

func (c *socket) hello(kind string, payload json.RawMessage) {
	var p struct {
		sessionPart
		Since  int64 `json:"since"`
		Replay bool  `json:"replay_from_start"`
	}
	if json.Unmarshal(payload, &p) != nil || p.Since < 0 {
		c.complain("", "bad json", "bad_json", "session_id must be a text, and since an integer that is not negative")
		return
	}
	if p.SessionID == "" {
		c.complain("", "missing session_id", "missing_session_id", "missing session_id")
		return
	}
	if p.Replay { // also if the socket already follows the session
		c.unbind(p.SessionID)
	}
	c.bind(kind, p.SessionID, p.Since)
}

func (c *socket) unsubscribe(payload json.RawMessage) {
	var p sessionPart
	if json.Unmarshal(payload, &p) != nil || p.SessionID == "" {
		c.complain("", "missing session_id", "missing_session_id", "missing session_id")
		return
	}
	c.forget(p.SessionID)
	c.send(ownFrame{"unsubscribe_ack", p.SessionID, c.server.hash, p})
}

// ofFrame returns the session that a frame is about. If the session is not bound or was deleted, it
// sends an error and returns "".
func (c *socket) ofFrame(named string) string {
	id := c.session(named)
	if _, deleted := c.server.state.is(id); id == "" || deleted {
		c.complain(named, "unknown session", "unknown_session", "unknown session: "+named)
		return ""
	}
	return id
}

func (c *socket) input(payload json.RawMessage) {
	var p struct {
		sessionPart
		saidBody
	}
	if err := decodeObject(payload, &p); err != nil {
		c.refused("", err)
		return
	}
	id := c.ofFrame(p.SessionID)
	if id == "" {
		return
	}
	row, err := c.server.conversation(c.work, id)
	if err == nil {
		err = c.server.say(c.work, row, p.saidBody)
	}
	if err != nil {
		c.refused(id, err)
	}
}

// refused reports to the client why a frame about a session failed, with the error code of the
// corresponding HTTP reply.
func (c *socket) refused(id string, err error) {
	r := refusalOf(err)
	message := r.body.Message
	if message == "" {
		message = r.body.Error
	}
	c.complain(id, r.body.Error, strings.ReplaceAll(r.body.Error, " ", "_"), message)
}

func (c *socket) decide(payload json.RawMessage) {
	var p struct {
		sessionPart
		RequestID string `json:"request_id"`
		Choice    string `json:"choice"`
		Decision  string `json:"decision"`
	}
	err := json.Unmarshal(payload, &p)
	choice := p.Choice
	if choice == "" {
		choice = p.Decision
	}
	if choice == "" {
		choice = "deny"
	}
	if err != nil || p.RequestID == "" || !slices.Contains([]string{"allow", "deny", "allow_session"}, choice) {
		c.complain(p.SessionID, "bad decision", "bad_decision", "request_id must be given, and choice be allow, deny or allow_session")
		return
	}
	id := c.ofFrame(p.SessionID)
	if id == "" {
		return
	}
	answer := orchestration.RespondParams{InteractionID: p.RequestID, Decision: strings.TrimSuffix(choice, "_session")}
	if choice == "allow_session" {
		answer.Scope = "session"
	}
	c.respond(id, answer)
}

// respond answers a request. It silently ignores a request that is unknown, closed or of another
// kind.
func (c *socket) respond(id string, answer orchestration.RespondParams) {
	c.server.act(&answer, id)
	_, err := dialect.Do(c.work, c.server.Company, orchestration.Operations.Respond, answer)
	silent := []fault.Reason{fault.InteractionNotFound, fault.InteractionClosed, fault.InteractionKindMismatch, fault.RunNotLive}
	if err != nil && !slices.Contains(silent, fault.ReasonOf(err)) {
		c.refused(id, err)
	}
}

// questionAnswer is the answer to one question. Newer clients send two texts instead of the custom
// one: one replaces the options, the other adds to them.
type questionAnswer struct {
	QuestionID string   `json:"question_id"`
	Selected   []string `json:"selected"`
	Custom     string   `json:"custom_text"`
	Exclusive  string   `json:"exclusive_text"`
	Supplement string   `json:"supplement_text"`
}

// words returns all parts of an answer.
func (a *questionAnswer) words() []string {
	words := slices.Clone(a.Selected)
	for _, text := range []string{a.Custom, a.Exclusive, a.Supplement} {
		if strings.TrimSpace(text) != "" {
			words = append(words, text)
		}
	}
	return words
}

func (c *socket) answer(payload json.RawMessage) {
	var p struct {
		sessionPart
		RequestID string           `json:"request_id"`
		Cancelled bool             `json:"cancelled"`
		Answers   []questionAnswer `json:"answers"`
	}
	if json.Unmarshal(payload, &p) != nil || p.RequestID == "" {
		c.complain(p.SessionID, "bad question_answer", "bad_question_answer", "request_id must be given")
		return
	}
	id := c.ofFrame(p.SessionID)
	if id == "" {
		return
	}
	if p.Cancelled {
		c.respond(id, orchestration.RespondParams{InteractionID: p.RequestID, Cancel: true})
		return
	}
	asked := c.questions(id, p.RequestID)
	if len(asked) == 1 && asked[0].ID == frames.InputID {
		text := ""
		if len(p.Answers) > 0 {
			text = strings.Join(p.Answers[0].words(), "")
		}
		c.respond(id, orchestration.RespondParams{InteractionID: p.RequestID, Text: &text})
		return
	}
	answers := map[string][]string{}
	for _, a := range p.Answers {
		words := a.words()
		i := slices.IndexFunc(asked, func(q frames.Question) bool { return q.ID == a.QuestionID })
		if i >= 0 && !asked[i].Multi && len(words) > 1 { // the question allows one answer
			words = []string{strings.Join(words, ", ")}
		}
		answers[a.QuestionID] = words
	}
	if len(answers) == 0 {
		c.complain(id, "bad question_answer", "bad_question_answer", "answers must be given")
		return
	}
	c.respond(id, orchestration.RespondParams{InteractionID: p.RequestID, Answers: answers})
}

// questions returns the questions of an open request, none if it is not open.
func (c *socket) questions(id, request string) (list []frames.Question) {
	err := c.server.withHistory(c.work, id, func(h *history) error {
		for _, f := range h.mapper.View.Asked() {
			if p, is := f.Payload.(frames.QuestionPayload); is && p.RequestID == request {
				list = p.Questions
			}
		}
		return nil
	})
	if err != nil {
		c.server.Log.Warn("a session cannot be read", "session", id, "error", err)
	}
	return list
}

func (c *socket) abort(payload json.RawMessage) {
	var p sessionPart
	if json.Unmarshal(payload, &p) != nil {
		c.complain("", "bad json", "bad_json", "session_id must be a text")
		return
	}
	if id := c.ofFrame(p.SessionID); id != "" {
		c.interrupt(id)
	}
}

// interrupt ends the turn of a session. It is a no-op if the session is idle.
func (c *socket) interrupt(id string) {
	p := orchestration.InterruptParams{}
	c.server.act(&p, id)
	_, err := dialect.Do(c.work, c.server.Company, orchestration.Operations.Interrupt, p)
	if reason := fault.ReasonOf(err); err != nil && reason != fault.NoActiveTurn && reason != fault.RunNotLive && !errors.Is(err, c.work.Err()) {
		c.refused(id, err)
	}
}
