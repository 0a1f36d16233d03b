package acecode

// The mapper: the lines of a run's log in, the events of its session out. What it sends is
// a function of the log alone, so that every socket and every start of the listener numbers
// the same events alike.

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/runs/transcript"
)

// perLine is how many events a line may yield: an event has the number of its line times
// this, and its place among them.
const perLine = 1024

// seqOf is the number of the first event of a line.
func seqOf(line int64) int64 { return line * perLine }

// lineOf is the line that an event came from.
func lineOf(seq int64) int64 { return seq / perLine }

// mapper makes events of a session. It is for one goroutine.
type mapper struct {
	place place
	fold  *transcript.Fold
	view  *view

	line  int64 // the last one
	at    int64 // its time, in milliseconds
	stamp string
	out   []frame
	full  bool // the line yields too many

	turn    int   // under way, 0 for none
	last    int   // the newest that began
	began   int64 // the line of its beginning
	tools   int
	used    *transcript.Usage
	waits   string            // what the turn waits for, "" for nothing
	clients map[string]string // ids of clients, by that of the text
	waiting map[string]bool   // texts that wait for a turn
	said    map[string]*sent  // messages and reasoning that are open
	running map[string]*work  // tools that are open
	todos   string            // as they were sent last
	started bool              // an agent is being started
}

// sent is how much of an open item the client has.
type sent struct {
	text   []byte // what was sent of it since it was closed for the stream
	before int    // bytes that earlier messages have
	any    bool   // something was sent
}

// work is a tool that is open.
type work struct {
	item    *transcript.Item
	index   int
	begun   bool // the client knows of it
	bytes   int64
	lines   int64
	started int64
}

func newMapper(at place, project string) *mapper {
	return &mapper{
		place: at, fold: transcript.NewFold(project).Fork(), view: &view{},
		clients: map[string]string{}, waiting: map[string]bool{}, said: map[string]*sent{}, running: map[string]*work{},
	}
}

// clone is a mapper that goes on from here by itself.
func (m *mapper) clone() *mapper {
	c := *m
	c.fold, c.view, c.out = m.fold.Fork(), m.view.clone(), nil
	c.clients, c.waiting = maps.Clone(m.clients), maps.Clone(m.waiting)
	c.said, c.running = map[string]*sent{}, map[string]*work{}
	for id, s := range m.said {
		c.said[id] = &sent{slices.Clip(s.text), s.before, s.any}
	}
	for id, w := range m.running {
		c.running[id] = new(*w)
	}
	return &c
}

// envelopeOf is what is read of a line beside its items.
type envelopeOf struct {
	Type    string          `json:"type"`
	At      string          `json:"ts_wallclock"`
	Payload json.RawMessage `json:"payload"`
}

// take applies a line of the log. The list is valid until the next call.
func (m *mapper) take(line int64, text []byte) []frame {
	m.line, m.out, m.full = line, m.out[:0], false
	changes := m.fold.Line(line, text)
	var e envelopeOf
	if json.Unmarshal(text, &e) != nil {
		return nil // no event
	}
	if at, ok := clock.Parse(e.At); ok {
		m.at, m.stamp = at.UnixMilli(), e.At
	}
	m.event(e, changes)
	if m.full {
		m.overflow()
	}
	return m.out
}

// event sends what an event of the log means.
func (m *mapper) event(e envelopeOf, changes []transcript.Change) {
	switch {
	case e.Type == events.SteerQueued:
		m.queued(e.Payload, changes)
	case e.Type == events.AgentStarted:
		m.started = false
	case e.Type == events.SteerDiscarded:
		m.discarded(e.Payload, changes)
		return
	case e.Type == events.TurnStarted:
		m.changes(changes)
		m.turnStarted(e.Payload)
		return
	case e.Type == events.TurnEnded:
		m.changesBut(changes, transcript.KindNotice)
		m.turnEnded(e.Payload)
		return
	case e.Type == events.RunExecuting:
		m.changes(changes)
		m.started = true
		m.send(typeProgress, progressPayload{"starting", "Starting the agent", m.place})
		return
	case events.Terminal(e.Type):
		m.changesBut(changes, transcript.KindNotice)
		m.sessionEnded(e)
		return
	case e.Type == events.CompactRequested:
		m.system("Compacting the conversation…")
		return
	case e.Type == events.Compacted:
		m.compacted(e.Payload)
		return
	case e.Type == events.RunContinued || e.Type == events.InterruptRequested:
		// The events of the turn say it.
		m.changesBut(changes, transcript.KindNotice)
		return
	}
	m.changes(changes)
}

func (m *mapper) changes(list []transcript.Change) { m.changesBut(list, "") }

// changesBut sends changes of items but those of a kind.
func (m *mapper) changesBut(list []transcript.Change, kind string) {
	for i := range list {
		if list[i].Item != nil && list[i].Item.Kind != kind {
			m.change(&list[i])
		}
	}
}

// send adds an event to those of the line. Texts of one item that follow each other are
// one, and of the updates of a tool only the newest stays.
func (m *mapper) send(kind string, payload any) {
	if n := len(m.out); n > 0 && m.out[n-1].joins(kind, payload) {
		m.out[n-1].Payload = joined(m.out[n-1].Payload, payload)
		if _, text := payload.(textPayload); !text {
			payload = m.out[n-1].Payload
		}
		m.view.apply(frame{kind, m.out[n-1].Seq, m.at, payload})
		return
	}
	f := frame{kind, seqOf(m.line) + int64(min(len(m.out), perLine-1)), m.at, payload}
	m.view.apply(f)
	if m.full = m.full || len(m.out) == perLine; !m.full {
		m.out = append(m.out, f)
	}
}

// overflow puts the whole transcript in the place of the last event of a line that yields
// too many.
func (m *mapper) overflow() {
	last := &m.out[len(m.out)-1]
	last.Type, last.Payload = typeReplace, replacePayload{m.view.list(), m.place}
}

// joins reports whether an event can be one with the next.
func (f frame) joins(kind string, payload any) bool {
	if f.Type != kind {
		return false
	}
	switch next := payload.(type) {
	case textPayload:
		of, ok := f.Payload.(textPayload)
		return ok && of.ItemID == next.ItemID && len(of.Text)+len(next.Text) <= maxPart
	case toolUpdatePayload:
		of, ok := f.Payload.(toolUpdatePayload)
		return ok && of.CallID == next.CallID
	case progressPayload:
		return true
	}
	return false
}

// joined is one payload for two.
func joined(a, b any) any {
	if of, ok := a.(textPayload); ok {
		next, _ := b.(textPayload) // joins said so
		of.Text += next.Text
		of.Delta = of.Text
		return of
	}
	if of, ok := a.(toolUpdatePayload); ok {
		next, _ := b.(toolUpdatePayload)
		next.Chunk = tail(of.Chunk+next.Chunk, maxOutput)
		return next
	}
	return b
}

// replacedBy reports whether a newer event says all that this one did.
func (f *frame) replacedBy(newer *frame) bool {
	if f.Type != newer.Type {
		return false
	}
	switch p := newer.Payload.(type) {
	case toolUpdatePayload:
		of, ok := f.Payload.(toolUpdatePayload)
		return ok && of.CallID == p.CallID
	case progressPayload:
		return true
	}
	return false
}

// system sends a notice.
func (m *mapper) system(text string) { m.message(transcript.RoleSystem, text, nil) }

// message sends a message that is complete.
func (m *mapper) message(role, text string, about *metadata) {
	if role != transcript.RoleAssistant {
		m.closeSaid("")
	}
	said := message{
		Role: role, Content: text, ID: m.messageID(), Timestamp: m.stamp, TimestampMS: m.at, Metadata: about,
	}
	m.send(typeMessage, messagePayload{said, said, m.place})
}

// messageID is the id of a message that is sent now.
func (m *mapper) messageID() string {
	return "m" + strconv.FormatInt(seqOf(m.line)+int64(min(len(m.out), perLine-1)), 10)
}

func (m *mapper) fail(code, text, request string) {
	m.send(typeError, errorPayload{code, code, text, request, "server", m.place})
}

// turnID is the id of a turn, "" for none.
func turnID(turn int) string {
	if turn == 0 {
		return ""
	}
	return "t" + strconv.Itoa(turn)
}

// titleOf is what a session is called by its first text.
func titleOf(text string) string { return oneLine(strings.TrimSpace(text), 30) }

// stampOf is a time in milliseconds as text.
func stampOf(ms int64) string { return clock.Stamp(time.UnixMilli(ms)) }
