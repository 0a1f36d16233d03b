package frames

// The events for turns, waiting texts and the ends of sessions.

import (
	"cmp"
	"encoding/json"
	"strings"

	"ac/events"
	"ac/runs/session"
	"ac/runs/transcript"
)

// Outcomes of turns.
const (
	outcomeCompleted = "completed"
	outcomeError     = "error"
	outcomeAborted   = "aborted"
)

// queued records a waiting text, and its client_message_id.
func (m *Mapper) queued(payload json.RawMessage, changes []transcript.Change) {
	var p struct {
		Client string `json:"client_message_id"`
	}
	_ = json.Unmarshal(payload, &p) // a text without an id waits, too
	for i := range changes {
		if changes[i].Op != transcript.Open {
			continue
		}
		m.waiting[changes[i].Item.ID] = true
		if p.Client != "" {
			m.clients[changes[i].Item.ID] = p.Client
		}
	}
}

// discarded reports an acknowledged text that will not be delivered.
func (m *Mapper) discarded(payload json.RawMessage, changes []transcript.Change) {
	var p struct {
		Reason string `json:"reason"`
		Error  string `json:"error"`
	}
	_ = json.Unmarshal(payload, &p) // a text without a reason is discarded, too
	for i := range changes {
		item := changes[i].Item
		if item == nil || changes[i].Op != transcript.Close {
			continue
		}
		delete(m.clients, item.ID)
		delete(m.waiting, item.ID)
		code := cmp.Or(p.Reason, "discarded")
		m.fail(code, OneLine(item.Text, 80)+": not delivered: "+cmp.Or(p.Error, code), "")
		if m.Turn > 0 {
			m.busy(m.doing(), "")
			continue
		}
		m.send(typeDone, donePayload{"error", outcomeError, "", m.place})
		if code == session.DiscardRefused { // the discarded text already reports that the start failed
			m.started = false
		}
	}
}

// doing returns what the running turn does, in the terms of the protocol.
func (m *Mapper) doing() string {
	switch {
	case m.waits != "":
		return m.waits
	case len(m.running) > 0:
		return "running_tool"
	}
	return "waiting_llm"
}

func (m *Mapper) busy(reason, outcome string) {
	m.send(typeBusy, busyPayload{m.Turn > 0 && outcome == "", reason, TurnID(m.last), outcome, m.place})
}

func (m *Mapper) turnStarted(payload json.RawMessage) {
	var p struct {
		Turn int `json:"turn"`
	}
	if json.Unmarshal(payload, &p) != nil || p.Turn <= 0 {
		return
	}
	if m.Turn > 0 { // the log lacks the end of the previous turn
		m.end(outcomeAborted, "abort")
	}
	m.Turn, m.last, m.Began, m.used, m.waits, m.started = p.Turn, p.Turn, m.Line, nil, "", false
	m.busy("waiting_llm", "")
}

// waitsFor reports that the turn waits for a person.
func (m *Mapper) waitsFor(what string) {
	if m.Turn > 0 {
		m.waits = what
		m.busy(what, "")
	}
}

// waitsOn reports what the turn does after a request was resolved: it continues, or waits for the
// next request.
func (m *Mapper) waitsOn() {
	if m.Turn == 0 {
		return
	}
	m.waits = m.View.Waits()
	m.busy(m.doing(), "")
}

func (m *Mapper) turnEnded(payload json.RawMessage) {
	var p struct {
		Turn   int    `json:"turn"`
		Status string `json:"status"`
		Error  string `json:"error"`
		Reason string `json:"reason"`
	}
	if json.Unmarshal(payload, &p) != nil || m.Turn == 0 {
		return
	}
	switch {
	case p.Status == "completed":
		m.end(outcomeCompleted, "text")
	case p.Status == "interrupted" || p.Status == "cancelled":
		m.end(outcomeAborted, "abort")
	case strings.Contains(p.Reason, "max_") || strings.Contains(p.Error, "max_turn"):
		m.end(outcomeError, "max_iterations")
	default:
		m.closeAll()
		m.fail(cmp.Or(p.Reason, "provider_error"), cmp.Or(p.Error, "The turn failed."), "")
		m.end(outcomeError, "error")
	}
}

// closeAll completes the items that a turn leaves open.
func (m *Mapper) closeAll() {
	m.closeSaid("")
	clear(m.said)
	m.endTools()
}

// end sends the end of a turn. No other event of the turn follows.
func (m *Mapper) end(outcome, reason string) {
	m.closeAll()
	if u := m.used; u != nil {
		m.send(typeUsage, usagePayload{TurnTokens{tokensOf(u), true, false}, m.place})
	}
	m.waits = ""
	m.busy("idle", outcome)
	m.send(typeDone, donePayload{reason, outcome, TurnID(m.last), m.place})
	m.Turn, m.used = 0, nil
}

// tokensOf returns the usage of a turn. Unknown counts are 0. Tokens written to a cache are already
// part of the input.
func tokensOf(u *transcript.Usage) Tokens {
	of := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	t := Tokens{CacheRead: of(u.CachedInputTokens), CacheWrite: of(u.CacheWriteTokens), Reasoning: of(u.ReasoningOutputTokens), Total: u.TotalTokens}
	t.Prompt, t.Completion = of(u.InputTokens)+t.CacheRead, of(u.OutputTokens)+t.Reasoning
	if t.Total == 0 {
		t.Total = t.Prompt + t.Completion
	}
	return t
}

// sessionEnded reports the end of a session during a turn, and of one that failed to start. The end
// of a session between turns is not reported, because the next text continues it.
func (m *Mapper) sessionEnded(e envelopeOf) {
	var p struct {
		Error string `json:"error"`
		Kind  string `json:"error_kind"`
	}
	_ = json.Unmarshal(e.Payload, &p) // it has ended, whatever the payload
	failed := e.Type == events.RunFailed
	switch {
	case m.Turn > 0 && e.Type == events.RunStopped:
		m.end(outcomeAborted, "abort")
	case m.Turn > 0:
		m.closeAll()
		m.fail(cmp.Or(p.Kind, "session_ended"), cmp.Or(p.Error, "The agent ended in its turn."), "")
		m.end(outcomeError, "error")
	case failed && (m.started || len(m.waiting) > 0):
		m.fail(cmp.Or(p.Kind, "start_failed"), cmp.Or(p.Error, "The agent could not be started."), "")
		m.send(typeDone, donePayload{"error", outcomeError, "", m.place})
	}
	m.started = false
}

func (m *Mapper) compacted(payload json.RawMessage) {
	var p struct {
		OK    *bool  `json:"ok"`
		Error string `json:"error"`
	}
	_ = json.Unmarshal(payload, &p) // an old event has neither
	if p.OK != nil && !*p.OK {
		m.fail("compact_failed", cmp.Or(p.Error, "The conversation could not be compacted."), "")
		if m.Turn > 0 {
			m.busy(m.doing(), "")
		}
		return
	}
	m.system("Conversation compacted.")
}
