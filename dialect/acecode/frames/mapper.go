package frames

// The mapper from the lines of a run's log to the events of its session. It is a pure function of
// the log, so event numbers are the same on every socket and after every restart.

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ac/events"
	"ac/internal/clip"
	"ac/internal/clock"
	"ac/runs/transcript"
)

// PerLine is the maximum number of events of a line. An event's number is its line times PerLine,
// plus its index in the line.
const PerLine = 1024

// SeqOf returns the number of the first event of a line.
func SeqOf(line int64) int64 { return line * PerLine }

// lineOf returns the line that an event came from.
func lineOf(seq int64) int64 { return seq / PerLine }

// Mapper computes the events of a session. It is not safe for concurrent use.
type Mapper struct {
	place Place
	fold  *transcript.Fold
	View  *View

	Line  int64 // the last line that was applied
	at    int64 // its time, in milliseconds
	stamp string
	out   []Frame
	full  bool // the line has more than PerLine events

	Turn    int   // the running turn, 0 if none
	last    int   // the newest turn that began
	Began   int64 // the line at which Turn began
	tools   int
	used    *transcript.Usage
	waits   string            // what the turn waits for, "" for nothing
	clients map[string]string // client_message_id, by item
	waiting map[string]bool   // items of texts that wait for a turn
	said    map[string]*sent  // open messages and reasoning, by item
	running map[string]*work  // open tools, by item
	todos   string            // as last sent
	started bool              // an agent is starting
}

// sent records how much of an open item was sent.
type sent struct {
	text   []byte // sent since the last complete message
	before int    // bytes in earlier messages
	any    bool   // something was sent
}

// work is an open tool.
type work struct {
	item    *transcript.Item
	index   int
	begun   bool // its start was sent
	bytes   int64
	lines   int64
	started int64
}

// NewMapper returns the mapper of a session at the beginning of its log.
func NewMapper(at Place, project string) *Mapper {
	return &Mapper{
		place: at, fold: transcript.NewFold(project).Fork(), View: &View{},
		clients: map[string]string{}, waiting: map[string]bool{}, said: map[string]*sent{}, running: map[string]*work{},
	}
}

// Clone returns an independent copy.
func (m *Mapper) Clone() *Mapper {
	c := *m
	c.fold, c.View, c.out = m.fold.Fork(), m.View.Clone(), nil
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

// envelopeOf holds the members of a line that are read in addition to its items.
type envelopeOf struct {
	Type    string          `json:"type"`
	At      string          `json:"ts_wallclock"`
	Payload json.RawMessage `json:"payload"`
}

// Take applies a line of the log and returns its events. They are valid until the next call.
func (m *Mapper) Take(line int64, text []byte) []Frame {
	m.Line, m.out, m.full = line, m.out[:0], false
	changes := m.fold.Line(line, text)
	var e envelopeOf
	if json.Unmarshal(text, &e) != nil {
		return nil // not an event
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

// event sends the events for one line of the log.
func (m *Mapper) event(e envelopeOf, changes []transcript.Change) {
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
		// The events of turns report this.
		m.changesBut(changes, transcript.KindNotice)
		return
	}
	m.changes(changes)
}

func (m *Mapper) changes(list []transcript.Change) { m.changesBut(list, "") }

// changesBut sends the changes of items, except items of one kind.
func (m *Mapper) changesBut(list []transcript.Change, kind string) {
	for i := range list {
		if list[i].Item != nil && list[i].Item.Kind != kind {
			m.change(&list[i])
		}
	}
}

// send adds an event to those of the line. It merges adjacent texts of one item. Of a tool's
// adjacent updates it keeps only the newest.
func (m *Mapper) send(kind string, payload any) {
	if n := len(m.out); n > 0 && m.out[n-1].Joins(kind, payload) {
		m.out[n-1].Payload = Joined(m.out[n-1].Payload, payload)
		if _, text := payload.(TextPayload); !text {
			payload = m.out[n-1].Payload
		}
		m.View.apply(Frame{kind, m.out[n-1].Seq, m.at, payload})
		return
	}
	f := Frame{kind, SeqOf(m.Line) + int64(min(len(m.out), PerLine-1)), m.at, payload}
	m.View.apply(f)
	if m.full = m.full || len(m.out) == PerLine; !m.full {
		m.out = append(m.out, f)
	}
}

// overflow replaces the last event of a line with too many by the whole transcript.
func (m *Mapper) overflow() {
	last := &m.out[len(m.out)-1]
	last.Type, last.Payload = typeReplace, replacePayload{m.View.list(), m.place}
}

// Joins reports whether an event can be merged with the next one.
func (f Frame) Joins(kind string, payload any) bool {
	if f.Type != kind {
		return false
	}
	switch next := payload.(type) {
	case TextPayload:
		of, ok := f.Payload.(TextPayload)
		return ok && of.ItemID == next.ItemID && len(of.Text)+len(next.Text) <= maxPart
	case ToolUpdatePayload:
		of, ok := f.Payload.(ToolUpdatePayload)
		return ok && of.CallID == next.CallID
	case progressPayload:
		return true
	}
	return false
}

// Joined merges two payloads.
func Joined(a, b any) any {
	if of, ok := a.(TextPayload); ok {
		next, _ := b.(TextPayload) // see Joins
		of.Text += next.Text
		of.Delta = of.Text
		return of
	}
	if of, ok := a.(ToolUpdatePayload); ok {
		next, _ := b.(ToolUpdatePayload)
		next.Chunk = clip.Tail(of.Chunk+next.Chunk, maxOutput)
		return next
	}
	return b
}

// ReplacedBy reports whether a newer event makes this one redundant.
func (f *Frame) ReplacedBy(newer *Frame) bool {
	if f.Type != newer.Type {
		return false
	}
	switch p := newer.Payload.(type) {
	case ToolUpdatePayload:
		of, ok := f.Payload.(ToolUpdatePayload)
		return ok && of.CallID == p.CallID
	case progressPayload:
		return true
	}
	return false
}

// system sends a system message.
func (m *Mapper) system(text string) { m.message(transcript.RoleSystem, text, nil) }

// message sends a complete message.
func (m *Mapper) message(role, text string, about *metadata) {
	if role != transcript.RoleAssistant {
		m.closeSaid("")
	}
	said := Message{
		Role: role, Content: text, ID: m.messageID(), Timestamp: m.stamp, TimestampMS: m.at, Metadata: about,
	}
	m.send(TypeMessage, NewMessagePayload(said, m.place))
}

// messageID returns the id of a message that is sent next.
func (m *Mapper) messageID() string {
	return "m" + strconv.FormatInt(SeqOf(m.Line)+int64(min(len(m.out), PerLine-1)), 10)
}

func (m *Mapper) fail(code, text, request string) {
	m.send(TypeError, errorPayload{code, code, text, request, "server", m.place})
}

// TurnID returns the id of a turn, "" for 0.
func TurnID(turn int) string {
	if turn == 0 {
		return ""
	}
	return "t" + strconv.Itoa(turn)
}

// titleOf returns the title of a session, made from its first text.
func titleOf(text string) string { return OneLine(strings.TrimSpace(text), 30) }

// StampOf formats a time in milliseconds.
func StampOf(ms int64) string { return clock.Stamp(time.UnixMilli(ms)) }
