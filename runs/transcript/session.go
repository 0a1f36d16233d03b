package transcript

// One execution of an agent: its lines in, changes of items and facts out.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"ac/workspace/doc"
)

// Op is what happened to an item.
type Op string

// The ops.
const (
	Open   Op = "open"
	Append Op = "append"
	Update Op = "update"
	Close  Op = "close"
)

// Change is one change of the transcript. Item is as it stands after the change
// and belongs to the fold; Field and Text are those of an append.
type Change struct {
	Op    Op
	Item  *Item
	Field string // text or output
	Text  string
}

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
	Failure *Failure
}

// maxOpen bounds the items that are open at once; the oldest is forgotten.
const maxOpen = 1000

// Session decodes the lines of one execution. It is for one goroutine.
type Session struct {
	decoder decoder // nil until the family is known
	items   []*Item // that are open, in order
	changes []Change
	facts   Facts
	failure failing
	stderr  string
	prose   *Item // text of an agent that is not understood
	whole   []byte
	brief   bool        // items of tools are not asked for
	sniffed int         // lines of JSON that were looked at for the family
	parent  string      // of the items of the line that is read, "" for none
	before  func(*Item) // completes an item before its first change is reported
}

// decoder reads the messages of one family.
type decoder interface {
	message(s *Session, line []byte)
}

// NewSession makes a session whose family driver names ("codex" for its app
// server), or, with any other, by what it prints.
func NewSession(driver string) *Session {
	s := &Session{}
	if driver == string(doc.Codex) {
		s.know(&appServer{})
	}
	return s
}

// NewFacts is NewSession for one who asks for the facts alone: what cannot change them
// is passed over where that is cheap to tell.
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
	f.Failure = s.failure.found(s.stderr)
	return f
}

// Conversation is the fact of that name, which costs nothing to ask for after each line.
func (s *Session) Conversation() string { return s.facts.Conversation }

// Line takes one line of a stream, without its end. The changes are valid until
// the next call.
func (s *Session) Line(stream string, line []byte) []Change {
	s.changes = s.changes[:0]
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
	case stream == "stderr":
		s.errorLine(line)
	case line[0] == '{' && (s.decoder != nil || json.Valid(line)): // decoders pass over what is no JSON
		if s.decoder == nil && s.sniffed < maxSniffs {
			s.sniffed++
			s.sniff(line)
		}
		if s.decoder != nil {
			s.decoder.message(s, line)
		} else {
			s.text(line)
		}
	default:
		s.text(line)
	}
	return s.changes
}

// End tells that no line comes any more: what is open is closed.
func (s *Session) End() []Change {
	s.changes = s.changes[:0]
	if s.decoder == nil {
		s.sniffWhole()
	}
	for len(s.items) > 0 {
		item := s.items[0]
		if item.Tool != nil && (item.Tool.Status == ToolInProgress || item.Tool.Status == ToolPending) {
			item.Tool.Status = ToolCancelled
		}
		s.close(item)
	}
	return s.changes
}

// probe is what tells the families apart.
type probe struct {
	Type      string          `json:"type"`
	Method    string          `json:"method"`
	JSONRPC   string          `json:"jsonrpc"`
	SessionID string          `json:"sessionID"`
	Session   string          `json:"session_id"`
	Part      json.RawMessage `json:"part"`
	Response  *string         `json:"response"`
	Stats     json.RawMessage `json:"stats"`
	Error     json.RawMessage `json:"error"`
	Role      string          `json:"role"`
	Subtype   string          `json:"subtype"`
	ID        json.RawMessage `json:"id"`
	Result    json.RawMessage `json:"result"`
}

// sniff finds the family of the first line that shows it.
func (s *Session) sniff(line []byte) {
	var p probe
	if json.Unmarshal(line, &p) != nil {
		return
	}
	switch {
	case p.JSONRPC == "" && (p.Method != "" || (len(p.ID) > 0 && len(p.Result) > 0 && p.Type == "")):
		s.know(&appServer{})
	case strings.HasPrefix(p.Type, "thread.") || strings.HasPrefix(p.Type, "item.") || strings.HasPrefix(p.Type, "turn."):
		s.know(&codexExec{})
	case p.SessionID != "" && (len(p.Part) > 0 || p.Type == "error"):
		s.know(&openCode{})
	case p.Type == "init" || (p.Type == "message" && p.Role != "") || (p.Type == "result" && p.Subtype == "" && len(p.Stats) > 0):
		s.know(&geminiStream{})
	case slices.Contains([]string{"system", "assistant", "user", "result", "stream_event"}, p.Type):
		s.know(&claude{})
	case p.Session != "" && p.Type == "" && (p.Response != nil || len(p.Error) > 0):
		s.know(&geminiWhole{})
	}
}

// maxSniffs bounds the lines of JSON that are looked at for their family: agents show it
// with the first ones.
const maxSniffs = 1000

// maxWhole bounds the output that is read as one value.
const maxWhole = 1 << 20

// sniffWhole reads output that is one value over several lines, as gemini prints
// it. What was taken for prose until then is that value.
func (s *Session) sniffWhole() {
	text := bytes.TrimSpace(s.whole)
	at := bytes.IndexByte(text, '{')
	if at < 0 || !json.Valid(text[at:]) {
		return
	}
	s.sniff(text[at:])
	if s.decoder == nil {
		return
	}
	if s.prose != nil {
		s.facts.Said -= units(s.prose.Text)
		s.prose.Text, s.prose.void = "", true
		s.forget(s.prose)
		s.changes = append(s.changes, Change{Op: Close, Item: s.prose})
	}
	s.decoder.message(s, text[at:])
}

// text takes a line that is no message.
func (s *Session) text(line []byte) {
	if s.decoder != nil {
		return
	}
	if len(s.whole)+len(line) < maxWhole {
		s.whole = append(append(s.whole, line...), '\n')
	}
	text := string(line) + "\n"
	if s.prose == nil || s.prose.State == StateClosed {
		s.prose = s.open(Item{Kind: KindMessage, Role: RoleAssistant})
	}
	if len(s.prose.Text) > 64<<10 {
		s.close(s.prose)
		s.prose = s.open(Item{Kind: KindMessage, Role: RoleAssistant})
	}
	s.append(s.prose, text)
}

// errorLine keeps the end of stderr; lines of JSON there are the agent's own log.
func (s *Session) errorLine(line []byte) {
	s.stderr = tail(s.stderr+string(line)+"\n", maxWords)
	if line[0] == '{' && json.Valid(line) {
		return
	}
	text := plain(string(line))
	if text == "" {
		return
	}
	if n := len(s.items); n > 0 {
		last := s.items[n-1]
		if last.Kind == KindNotice && last.Role == RoleSystem && len(last.Text)+len(text) < 4<<10 {
			last.appendText("\n" + text)
			s.changes = append(s.changes, Change{Op: Append, Item: last, Field: "text", Text: "\n" + text})
			return
		}
	}
	s.open(Item{Kind: KindNotice, Role: RoleSystem, Text: text})
}

// plain takes ANSI escapes and control characters out of a text.
func plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] == 0x1b {
			i++
			if i < len(text) && text[i] == '[' {
				i++
				for i < len(text) && (text[i] < 0x40 || text[i] > 0x7e) {
					i++
				}
			}
			if i < len(text) {
				i++
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r >= ' ' && r != 0x7f || r == '\t' {
			b.WriteRune(r)
		}
		i += size
	}
	return strings.TrimSpace(b.String())
}

// open begins an item. An id of the agent's own is kept as it is.
func (s *Session) open(item Item) *Item {
	// A notice of stderr is over once something else follows.
	if n := len(s.items); n > 0 && s.items[n-1].Kind == KindNotice {
		s.close(s.items[n-1])
	}
	if len(s.items) >= maxOpen {
		s.close(s.items[0])
	}
	made := new(item)
	made.State, made.own = StateOpen, item.ID
	if made.Parent == "" {
		made.Parent = s.parent
	}
	text := made.Text
	made.setText(text)
	s.count(made, units(text))
	s.items = append(s.items, made)
	if s.before != nil {
		s.before(made)
	}
	s.changes = append(s.changes, Change{Op: Open, Item: made})
	return made
}

// find is the open item with an agent's own id, nil when there is none.
func (s *Session) find(id string) *Item {
	for i := len(s.items) - 1; i >= 0; i-- {
		if s.items[i].own == id {
			return s.items[i]
		}
	}
	return nil
}

func (s *Session) append(item *Item, text string) {
	if text == "" {
		return
	}
	item.appendText(text)
	s.count(item, units(text))
	s.changes = append(s.changes, Change{Op: Append, Item: item, Field: "text", Text: text})
}

func (s *Session) appendOutput(item *Item, text string) {
	if text == "" || item.Tool == nil {
		return
	}
	item.Tool.appendOutput(text)
	s.changes = append(s.changes, Change{Op: Append, Item: item, Field: "output", Text: text})
}

// replace tells the text of an item again, as a whole.
func (s *Session) replace(item *Item, text string) {
	s.count(item, units(text)-units(item.Text))
	item.setText(text)
}

func (s *Session) update(item *Item) {
	s.changes = append(s.changes, Change{Op: Update, Item: item})
}

func (s *Session) close(item *Item) {
	if item.State == StateClosed {
		return
	}
	item.State = StateClosed
	s.forget(item)
	if item.Kind == KindMessage && item.Role == RoleAssistant && item.Parent == "" && strings.TrimSpace(item.Text) != "" {
		s.facts.Answer = item.Text
	}
	s.changes = append(s.changes, Change{Op: Close, Item: item})
}

func (s *Session) forget(item *Item) {
	if i := slices.Index(s.items, item); i >= 0 {
		s.items = slices.Delete(s.items, i, i+1)
	}
	item.State = StateClosed
}

// count adds to what the agent said.
func (s *Session) count(item *Item, n int64) {
	if item.Role == RoleAssistant && (item.Kind == KindMessage || item.Kind == KindReasoning) {
		s.facts.Said += n
	}
}

// units is the length of a text in UTF-16 code units.
func units(text string) (n int64) {
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// notice tells something that is no part of the conversation.
func (s *Session) notice(text string) {
	if text = plain(text); text != "" {
		s.close(s.open(Item{Kind: KindNotice, Role: RoleSystem, Text: text}))
	}
}

// conversation keeps the agent's own id.
func (s *Session) conversation(id string) {
	if id != "" && len(id) <= 200 {
		s.facts.Conversation = id
	}
}
