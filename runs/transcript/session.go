package transcript

// The decoding of one execution of an agent: from lines to item changes and facts.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"ac/internal/terminal"
	"ac/runs/failure"
)

// Facts holds what the lines of an execution reveal besides its items.
type Facts struct {
	// Conversation is the agent's own id of the conversation, "" while unknown.
	Conversation string
	// Known reports whether the agent's family is known.
	Known bool
	// Said is the length of the agent's messages and reasoning, in UTF-16 code units. It excludes
	// the protocol around them.
	Said int64
	// Answer is the agent's last complete message.
	Answer string
	// Failure is why the agent failed, in its own words; nil if it reported none.
	Failure *failure.Failure
}

// Bounds of the open items of an execution. Beyond them, the oldest item is closed as it stands.
const (
	maxOpen      = 1000
	maxOpenBytes = 1 << 20
)

// Session decodes the lines of one execution. It is not safe for concurrent use.
type Session struct {
	decoder  decoder // nil until the family is known
	items    []*Item // the open items, in order
	size     int     // of the open items, in bytes
	ids      recentIDs
	made     int // items so far
	answered int // order of the item that is the answer
	facts    Facts
	failure  failure.Collector
	stderr   string
	prose    *Item        // plain text of an agent of unknown family
	value    pendingValue // possible value over several lines
	edited   *Item        // the newest file change of the turn
	parent   string       // parent of the current line's items, "" for none
	brief    bool         // items of tools are not wanted
	sniffed  int          // JSON lines checked for the family
	// hasTextEvents means that people's texts have events of their own. Then the agent's echo of a text
	// makes no item, and the end of a turn makes no notice.
	hasTextEvents bool
	// begins completes a new item. changed receives each change as it happens. Both are nil if
	// only the facts are wanted.
	begins  func(*Item)
	changed func(Change)
}

// decoder decodes the messages of one family.
type decoder interface {
	message(s *Session, line []byte)
	// turn reports that a turn begins.
	turn()
	clone() decoder
}

// NewSession returns a session for the family that driver names: codex for its app server,
// claude, or acp. For any other driver, the output determines the family.
func NewSession(driver string) *Session {
	s := &Session{}
	switch driver {
	case DriverCodex:
		s.setDecoder(&appServer{})
	case DriverClaude:
		s.setDecoder(&claude{})
	case DriverACP:
		s.setDecoder(&acp{history: true})
	}
	return s
}

// NewFacts is NewSession for a caller that wants only the facts. It skips what cannot change
// them, if that is cheap to detect.
func NewFacts(driver string) *Session {
	s := NewSession(driver)
	s.brief = true
	return s
}

func (s *Session) setDecoder(d decoder) {
	s.decoder, s.facts.Known = d, true
}

// Facts returns what is known so far.
func (s *Session) Facts() Facts {
	f := s.facts
	f.Failure = s.failure.Found(s.stderr)
	return f
}

// Conversation returns Facts().Conversation. It is cheap enough to call after each line.
func (s *Session) Conversation() string { return s.facts.Conversation }

// Line decodes one line of a stream, without its newline.
func (s *Session) Line(stream string, line []byte) {
	line = bytes.TrimRight(line, "\r")
	text := bytes.TrimSpace(line)
	switch {
	case stream == "stderr":
		if len(text) > 0 {
			s.errorLine(text)
		}
	case len(text) > 0 && text[0] == '{' && s.decoder != nil:
		s.decoder.message(s, text) // it ignores invalid JSON
	case len(text) > 0 && text[0] == '{' && len(s.value.text) == 0 && json.Valid(text):
		if s.sniffed < maxSniffs {
			s.sniffed++
			s.sniff(text)
		}
		if s.decoder == nil {
			s.text(line)
			break
		}
		s.release()
		s.endProse()
		s.decoder.message(s, text)
	default:
		s.text(line)
	}
}

// End closes all open items. No line may follow.
func (s *Session) End() {
	s.release()
	for len(s.items) > 0 {
		s.cancel(s.items[0])
	}
}

// BeginTurn starts a turn, whose prompt has an event of its own.
func (s *Session) BeginTurn() {
	s.hasTextEvents, s.edited, s.failure = true, nil, failure.Collector{}
	if s.decoder != nil {
		s.decoder.turn()
	}
}

// EndTurn closes what cannot outlast a turn: every item except tools and ACP plans. If the turn
// was broken off, it cancels the tools.
func (s *Session) EndTurn(broken bool) {
	for _, item := range slices.Clone(s.items) {
		switch {
		case item.Tool == nil && (item.Kind != KindPlan || item.own != acpPlan):
			s.close(item)
		case item.Tool != nil && broken:
			s.cancel(item)
		}
	}
}

// refuse closes a tool that waited for permission.
func (s *Session) refuse(item *Item) {
	if item.Tool != nil && item.Tool.Status == ToolPending {
		item.Tool.Status = ToolDeclined
		s.close(item)
	}
}

// cancel closes an item. A tool that still works is marked cancelled.
func (s *Session) cancel(item *Item) {
	if item.Tool != nil && (item.Tool.Status == ToolInProgress || item.Tool.Status == ToolPending) {
		item.Tool.Status = ToolCancelled
	}
	s.close(item)
}

// open opens an item. Its id is the agent's own, "" for none.
func (s *Session) open(item Item) *Item {
	// A notice from stderr ends when another item follows.
	if n := len(s.items); n > 0 && s.items[n-1].Kind == KindNotice {
		s.close(s.items[n-1])
	}
	if len(s.items) >= maxOpen {
		s.close(s.items[0])
	}
	made := new(item)
	s.made++
	made.State, made.own, made.order, made.ID = StateOpen, item.ID, s.made, s.ids.add(item.ID)
	if made.Parent == "" {
		made.Parent = s.parent
	}
	made.setText(item.Text)
	s.count(made, units(item.Text))
	s.items = append(s.items, made)
	if made.Kind == KindFileChange {
		s.edited = made
	}
	if s.begins != nil {
		s.begins(made)
	}
	s.report(Change{Op: Open, Item: made})
	return made
}

// report passes a change on, and closes items beyond the bounds.
func (s *Session) report(c Change) {
	if s.changed != nil {
		s.changed(c)
	}
	if c.Item.State == StateClosed {
		return
	}
	size := c.Item.bytes()
	s.size += size - c.Item.size
	c.Item.size = size
	for s.size > maxOpenBytes && len(s.items) > 1 && s.items[0] != c.Item {
		s.close(s.items[0])
	}
}

// find returns the open item with an agent's own id, nil for none.
func (s *Session) find(id string) *Item {
	if id == "" {
		return nil
	}
	return s.newest(func(i *Item) bool { return i.own == id })
}

// newest returns the newest open item that fits, nil for none.
func (s *Session) newest(fits func(*Item) bool) *Item {
	for _, item := range slices.Backward(s.items) {
		if fits(item) {
			return item
		}
	}
	return nil
}

// isClosed reports whether an item of this id was closed. Further messages about it change nothing.
func (s *Session) isClosed(id string) bool { return s.ids.has(id) && s.find(id) == nil }

func (s *Session) append(item *Item, text string) {
	if text == "" || item.Truncated {
		return
	}
	s.count(item, units(text))
	if item.appendText(text) {
		s.report(Change{Op: Append, Item: item, Field: FieldText, Text: text})
	} else {
		s.report(Change{Op: Update, Item: item})
	}
}

func (s *Session) appendOutput(item *Item, text string) {
	if text == "" || item.Tool == nil {
		return
	}
	item.Tool.appendOutput(text)
	s.report(Change{Op: Append, Item: item, Field: FieldOutput, Text: text})
}

// replace replaces the whole text of an item.
func (s *Session) replace(item *Item, text string) {
	s.count(item, units(text)-units(item.Text))
	item.setText(text)
}

func (s *Session) update(item *Item) { s.report(Change{Op: Update, Item: item}) }

func (s *Session) close(item *Item) {
	if item.State == StateClosed {
		return
	}
	s.forget(item)
	item.compact()
	if item.answers() && item.order > s.answered {
		s.facts.Answer, s.answered = item.Text, item.order
	}
	s.report(Change{Op: Close, Item: item})
}

func (s *Session) forget(item *Item) {
	if i := slices.Index(s.items, item); i >= 0 {
		s.items = slices.Delete(s.items, i, i+1)
		s.size -= item.size
	}
	item.State = StateClosed
}

// count adds to the length of what the agent said.
func (s *Session) count(item *Item, n int64) {
	if item.Role == RoleAssistant && (item.Kind == KindMessage || item.Kind == KindReasoning) {
		s.facts.Said += n
	}
}

// echo adds the agent's echo of a person's text, unless an event of ours holds the text.
func (s *Session) echo(id, text string) {
	if s.hasTextEvents || strings.TrimSpace(text) == "" || s.isClosed(id) {
		return
	}
	s.close(s.open(Item{ID: id, Kind: KindMessage, Role: RoleUser, Text: text}))
}

// notice adds a notice that is not part of the conversation.
func (s *Session) notice(text string) { s.noticeOf("", text) }

// noticeOf is notice with the agent's own id of the item.
func (s *Session) noticeOf(id, text string) {
	if text = terminal.PlainLines(text); strings.TrimSpace(text) != "" && !s.isClosed(id) {
		s.close(s.open(Item{ID: id, Kind: KindNotice, Role: RoleSystem, Text: text}))
	}
}

// conversation stores the agent's own id of the conversation.
func (s *Session) conversation(id string) {
	if id != "" && len(id) <= 200 {
		s.facts.Conversation = id
	}
}

// fork returns an independent copy of the session. of maps the open items, and the newest file
// change, to their copies.
func (s *Session) fork(of func(*Item) *Item) *Session {
	f := *s
	f.items, f.begins, f.changed = nil, nil, nil
	for _, item := range s.items {
		f.items = append(f.items, of(item))
	}
	f.prose, f.edited = of(s.prose), of(s.edited)
	f.value, f.ids = s.value.clone(), s.ids.clone()
	if s.decoder != nil {
		f.decoder = s.decoder.clone()
	}
	return &f
}
