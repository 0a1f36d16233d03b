package transcript

// One execution of an agent: its lines in, changes of items and facts out.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"ac/internal/terminal"
	"ac/runs/failure"
)

// Facts are what the lines of an execution tell beside its items.
type Facts struct {
	// Conversation is the agent's own id of the conversation, "" while unknown.
	Conversation string
	// Known reports whether the lines are those of an agent that is understood.
	Known bool
	// Said is the length of what the agent said, in UTF-16 code units: messages
	// and reasoning, not the protocol around them.
	Said int64
	// Answer is the last message of the agent that is complete.
	Answer string
	// Failure is why it failed, in the agent's words; nil where it told none.
	Failure *failure.Failure
}

// Bounds of what is open at once in an execution. Beyond them the oldest item is
// closed as it is.
const (
	maxOpen      = 1000
	maxOpenBytes = 1 << 20
)

// Session decodes the lines of one execution. It is for one goroutine.
type Session struct {
	decoder  decoder // nil until the family is known
	items    []*Item // that are open, in order
	size     int     // of these, in bytes
	ids      recentIDs
	made     int // items so far
	answered int // the order of the item that is the answer
	facts    Facts
	failure  failure.Collector
	stderr   string
	prose    *Item  // text of an agent that is not understood
	value    held   // output that may be one value over several lines
	edited   *Item  // the newest file change of the turn
	parent   string // of the items of the line that is read, "" for none
	brief    bool   // items of tools are not asked for
	sniffed  int    // lines of JSON that were looked at for the family
	// told says that what people say to the agent has events of its own: the agent's
	// echo of it makes no item, and ends of turns no notice.
	told bool
	// begins completes an item that was made, and changed takes each change as it
	// happens; nil for a session of which the facts alone are wanted.
	begins  func(*Item)
	changed func(Change)
}

// decoder reads the messages of one family.
type decoder interface {
	message(s *Session, line []byte)
	// turn says that a turn begins.
	turn()
	clone() decoder
}

// NewSession makes a session whose family driver names (codex for its app server,
// claude, acp), or, with any other, by what it prints.
func NewSession(driver string) *Session {
	s := &Session{}
	switch driver {
	case DriverCodex:
		s.know(&appServer{})
	case DriverClaude:
		s.know(&claude{})
	case DriverACP:
		s.know(&acp{history: true})
	}
	return s
}

// NewFacts is NewSession for a caller that wants the facts alone: what cannot change them
// is passed over where that is cheap to see.
func NewFacts(driver string) *Session {
	s := NewSession(driver)
	s.brief = true
	return s
}

func (s *Session) know(d decoder) {
	s.decoder, s.facts.Known = d, true
}

// Facts are what is known by now.
func (s *Session) Facts() Facts {
	f := s.facts
	f.Failure = s.failure.Found(s.stderr)
	return f
}

// Conversation is the fact of that name, which costs nothing to ask for after each line.
func (s *Session) Conversation() string { return s.facts.Conversation }

// Line takes one line of a stream, without its end.
func (s *Session) Line(stream string, line []byte) {
	line = bytes.TrimRight(line, "\r")
	text := bytes.TrimSpace(line)
	switch {
	case stream == "stderr":
		if len(text) > 0 {
			s.errorLine(text)
		}
	case len(text) > 0 && text[0] == '{' && s.decoder != nil:
		s.decoder.message(s, text) // which passes over what is no JSON
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

// End says that no line comes any more: what is open is closed.
func (s *Session) End() {
	s.release()
	for len(s.items) > 0 {
		s.cancel(s.items[0])
	}
}

// BeginTurn says that a turn begins, whose prompt has an event of its own.
func (s *Session) BeginTurn() {
	s.told, s.edited, s.failure = true, nil, failure.Collector{}
	if s.decoder != nil {
		s.decoder.turn()
	}
}

// EndTurn closes what cannot go on behind the end of a turn: what was said and, where
// the turn was broken off, its tools.
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

// refuse closes a tool that waited to be allowed.
func (s *Session) refuse(item *Item) {
	if item.Tool != nil && item.Tool.Status == ToolPending {
		item.Tool.Status = ToolDeclined
		s.close(item)
	}
}

// cancel closes an item; a tool that is at work is cancelled.
func (s *Session) cancel(item *Item) {
	if item.Tool != nil && (item.Tool.Status == ToolInProgress || item.Tool.Status == ToolPending) {
		item.Tool.Status = ToolCancelled
	}
	s.close(item)
}

// open begins an item. Its id is the agent's own, "" for none.
func (s *Session) open(item Item) *Item {
	// A notice of stderr is over once something else follows.
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

// report passes a change on, and closes what is too much.
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

// find is the open item with an agent's own id, nil when there is none.
func (s *Session) find(id string) *Item {
	if id == "" {
		return nil
	}
	return s.newest(func(i *Item) bool { return i.own == id })
}

// newest is the open item that was opened last of those that fit, nil when there is none.
func (s *Session) newest(fits func(*Item) bool) *Item {
	for _, item := range slices.Backward(s.items) {
		if fits(item) {
			return item
		}
	}
	return nil
}

// over reports whether an item of this id was closed: what an agent still says of it
// changes nothing.
func (s *Session) over(id string) bool { return s.ids.has(id) && s.find(id) == nil }

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

// replace sets the text of an item anew, as a whole.
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

// count adds to what the agent said.
func (s *Session) count(item *Item, n int64) {
	if item.Role == RoleAssistant && (item.Kind == KindMessage || item.Kind == KindReasoning) {
		s.facts.Said += n
	}
}

// echo adds what a person said, in the agent's words, where no event of ours has it.
func (s *Session) echo(id, text string) {
	if s.told || strings.TrimSpace(text) == "" || s.over(id) {
		return
	}
	s.close(s.open(Item{ID: id, Kind: KindMessage, Role: RoleUser, Text: text}))
}

// notice adds something that is no part of the conversation.
func (s *Session) notice(text string) { s.noticeOf("", text) }

// noticeOf is notice of an item that has an id of the agent's own.
func (s *Session) noticeOf(id, text string) {
	if text = terminal.PlainLines(text); strings.TrimSpace(text) != "" && !s.over(id) {
		s.close(s.open(Item{ID: id, Kind: KindNotice, Role: RoleSystem, Text: text}))
	}
}

// conversation keeps the agent's own id.
func (s *Session) conversation(id string) {
	if id != "" && len(id) <= 200 {
		s.facts.Conversation = id
	}
}

// fork is a session that goes on from here by itself. of maps the items that are open,
// and the newest file change, to those of the fork.
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
