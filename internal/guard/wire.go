package guard

// The protocol between supervisor and guard: JSON, one value per line. The supervisor may be of
// another version than the guard that it starts, if the program was replaced meanwhile. So
// neither may change the meaning of these lines.

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Order is a line from the supervisor. One of its fields is set.
type Order struct {
	Start  *Start `json:"start,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Sweep  bool   `json:"sweep,omitempty"`
}

// Start is the order to start the provider.
type Start struct {
	Path string   `json:"path"`
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// Terminal: stdin is a terminal, which becomes the provider's controlling terminal.
	Terminal bool `json:"terminal,omitempty"`
}

// Report is a line to the supervisor.
type Report struct {
	PID   int    `json:"pid,omitempty"`
	Start string `json:"start,omitempty"` // start of the provider, see proc.Identity
	Error string `json:"error,omitempty"`
	Exit  *Exit  `json:"exit,omitempty"`
	Swept *Swept `json:"swept,omitempty"`
}

// Exit describes how the provider ended.
type Exit struct {
	Code   int `json:"code"`
	Signal int `json:"signal,omitempty"`
}

// Swept reports the end of a sweep, and the processes that survived it.
type Swept struct {
	Left []int `json:"left"`
}

// line encodes a report as package encoding/json would. A guard cannot wait for that package to
// initialize (see takeover).
func (r Report) line() []byte {
	b := []byte{'{'}
	name := func(name string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), '"', ':')
	}
	if r.PID != 0 {
		name("pid")
		b = strconv.AppendInt(b, int64(r.PID), 10)
	}
	if r.Start != "" {
		name("start")
		b = appendText(b, r.Start)
	}
	if r.Error != "" {
		name("error")
		b = appendText(b, r.Error)
	}
	if r.Exit != nil {
		name("exit")
		b = strconv.AppendInt(append(b, `{"code":`...), int64(r.Exit.Code), 10)
		if r.Exit.Signal != 0 {
			b = strconv.AppendInt(append(b, `,"signal":`...), int64(r.Exit.Signal), 10)
		}
		b = append(b, '}')
	}
	if r.Swept != nil {
		name("swept")
		b = append(b, `{"left":[`...)
		for i, pid := range r.Swept.Left {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(pid), 10)
		}
		b = append(b, "]}"...)
	}
	return append(b, "}\n"...)
}

// appendText appends a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendText(b []byte, text string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = append(b, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

var errOrder = errors.New("not an order")

// parseOrder parses a line from the supervisor.
func parseOrder(line []byte) (o Order, err error) {
	r := reader{text: line}
	r.object(func(name string) {
		switch name {
		case "start":
			o.Start = r.start()
		case "signal":
			o.Signal = r.number()
		case "sweep":
			o.Sweep = r.truth()
		default:
			r.skip()
		}
	})
	if r.space(); r.bad || r.at != len(r.text) {
		return Order{}, errOrder
	}
	return o, nil
}

// reader parses the JSON of an order. After a syntax error it stays bad.
type reader struct {
	text []byte
	at   int
	deep int
	bad  bool
}

func (r *reader) start() *Start {
	var s Start
	r.object(func(name string) {
		switch name {
		case "path":
			s.Path = r.string()
		case "argv":
			s.Argv = r.strings()
		case "env":
			s.Env = r.strings()
		case "dir":
			s.Dir = r.string()
		case "terminal":
			s.Terminal = r.truth()
		default:
			r.skip()
		}
	})
	return &s
}

func (r *reader) space() {
	for r.at < len(r.text) && (r.text[r.at] == ' ' || r.text[r.at] == '\n' || r.text[r.at] == '\r' || r.text[r.at] == '\t') {
		r.at++
	}
}

// next returns the first byte of the next token, 0 at the end or after an error.
func (r *reader) next() byte {
	if r.space(); r.bad || r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

// take consumes a word. If the text does not continue with it, the reader becomes bad.
func (r *reader) take(word string) bool {
	if r.next() == 0 || len(r.text)-r.at < len(word) || string(r.text[r.at:r.at+len(word)]) != word {
		r.bad = true
		return false
	}
	r.at += len(word)
	return true
}

// deepest bounds the nesting. Only members that this version does not know can nest deeply.
const deepest = 100

// list parses the items between two brackets, separated by commas.
func (r *reader) list(open, end string, item func()) {
	if r.deep++; r.deep > deepest || !r.take(open) {
		r.bad = true
		return
	}
	if r.next() != end[0] {
		item()
		for r.next() == ',' {
			r.at++
			item()
		}
	}
	r.take(end)
	r.deep--
}

func (r *reader) object(member func(name string)) {
	r.list("{", "}", func() {
		if name := r.string(); r.take(":") {
			member(name)
		}
	})
}

func (r *reader) strings() (all []string) {
	if r.next() == 'n' {
		r.take("null")
		return nil
	}
	r.list("[", "]", func() { all = append(all, r.string()) })
	return all
}

func (r *reader) truth() bool {
	if r.next() == 'f' {
		return !r.take("false")
	}
	return r.take("true")
}

func (r *reader) number() int {
	r.space()
	from := r.at
	for r.at < len(r.text) && (r.text[r.at] == '-' || r.text[r.at] >= '0' && r.text[r.at] <= '9') {
		r.at++
	}
	n, err := strconv.Atoi(string(r.text[from:r.at]))
	r.bad = r.bad || err != nil
	return n
}

// skip skips the value of a member that this version does not know.
func (r *reader) skip() {
	switch r.next() {
	case '{':
		r.object(func(string) { r.skip() })
	case '[':
		r.list("[", "]", r.skip)
	case '"':
		r.string()
	case 't', 'f':
		r.truth()
	case 'n':
		r.take("null")
	default:
		from := r.at
		for r.at < len(r.text) && strings.IndexByte("+-.0123456789Ee", r.text[r.at]) >= 0 {
			r.at++
		}
		r.bad = r.bad || r.at == from
	}
}

func (r *reader) string() string {
	if !r.take(`"`) {
		return ""
	}
	from := r.at
	for ; r.at < len(r.text) && r.text[r.at] >= ' '; r.at++ {
		switch r.text[r.at] {
		case '"':
			r.at++
			return string(r.text[from : r.at-1])
		case '\\':
			return r.escaped(append([]byte(nil), r.text[from:r.at]...))
		}
	}
	r.bad = true
	return ""
}

// escaped parses the rest of a string from its first escape on.
func (r *reader) escaped(b []byte) string {
	for r.at < len(r.text) && r.text[r.at] >= ' ' {
		c := r.text[r.at]
		r.at++
		switch c {
		case '"':
			return string(b)
		case '\\':
			b = r.escape(b)
		default:
			b = append(b, c)
		}
	}
	r.bad = true
	return ""
}

// escape parses what follows a backslash.
func (r *reader) escape(b []byte) []byte {
	const letters, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if r.at == len(r.text) {
		r.bad = true
		return b
	}
	c := r.text[r.at]
	r.at++
	for i := range len(letters) {
		if letters[i] == c {
			return append(b, means[i])
		}
	}
	if c != 'u' {
		r.bad = true
		return b
	}
	first := r.unit()
	if utf16.IsSurrogate(first) && len(r.text)-r.at > 1 && r.text[r.at] == '\\' && r.text[r.at+1] == 'u' {
		before := r.at
		r.at += 2
		if both := utf16.DecodeRune(first, r.unit()); both != utf8.RuneError {
			return utf8.AppendRune(b, both)
		}
		r.at = before // not a pair: the second escape is another character
	}
	return utf8.AppendRune(b, first) // half a pair becomes U+FFFD
}

// unit parses four hexadecimal digits.
func (r *reader) unit() rune {
	if len(r.text)-r.at < 4 {
		r.bad = true
		return 0
	}
	n, err := strconv.ParseUint(string(r.text[r.at:r.at+4]), 16, 16)
	r.bad = r.bad || err != nil
	r.at += 4
	return rune(n)
}
