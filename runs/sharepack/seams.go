package sharepack

// Secrets that span chunks. Output is recorded in the pieces in which it was read. A secret may
// therefore span several events, none of which shows it alone.

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"ac/events"
	"ac/internal/canonjson"
	"ac/internal/redact"
)

// Bounds of the context on each side of a seam. They are large enough for a private key.
const (
	seamBytes = 8 << 10
	seamLines = 8
)

// seams finds the spans to remove from chunks because of neighboring chunks.
type seams struct {
	redactor   *redact.Redactor
	outputs    map[string]*output
	redactions map[int64][]redaction // by the sequence number of the line
}

// output is the tail of one stream of one session, and the chunks that form it.
type output struct {
	tail   string
	pieces []piece
}

// piece is the part of a chunk that is still in the tail.
type piece struct {
	seq     int64
	dropped int // leading bytes of the chunk that are no longer in the tail
	kept    int
}

// redaction is a span of a chunk to remove, and its replacement.
type redaction struct {
	from, to int
	mark     string
}

func newSeams(redactor *redact.Redactor) *seams {
	return &seams{redactor: redactor, outputs: map[string]*output{}, redactions: map[int64][]redaction{}}
}

// chunk is the output text in an event, and its position in the line.
type chunk struct {
	stream     string
	text       string
	start, end int // byte range of its JSON string literal in the line
}

func chunkOf(line events.Line) (c chunk, ok bool) {
	if line.Long || !bytes.Contains(line.Raw, []byte(events.ProviderRaw)) {
		return c, false
	}
	kind, session := "", ""
	err := canonjson.Members(line.Raw, func(m canonjson.Member) {
		switch {
		case m.Value[0] == '"' && string(m.Key) == "type":
			kind = canonjson.Unquote(m.Value)
		case m.Value[0] == '"' && string(m.Key) == "session_ref":
			session = canonjson.Unquote(m.Value)
		case m.Value[0] == '{' && string(m.Key) == "payload":
			ok = c.payload(m)
		}
	})
	c.stream = session + "\n" + c.stream
	return c, ok && err == nil && kind == events.ProviderRaw
}

func (c *chunk) payload(payload canonjson.Member) (ok bool) {
	_ = canonjson.Members(payload.Value, func(m canonjson.Member) { // already scanned
		if m.Value[0] != '"' {
			return
		}
		switch string(m.Key) {
		case "stream":
			c.stream = canonjson.Unquote(m.Value)
		case "chunk":
			ok = true
			c.text = canonjson.Unquote(m.Value)
			c.end = payload.End - len(payload.Value) + m.End
			c.start = c.end - len(m.Value)
		}
	})
	return ok
}

// add checks the seam between the stream's previous output and the next line's.
func (s *seams) add(line events.Line) {
	c, ok := chunkOf(line)
	if !ok || c.text == "" {
		return
	}
	out := s.outputs[c.stream]
	if out == nil {
		out = &output{}
		s.outputs[c.stream] = out
	}
	if out.tail != "" {
		s.checkSeam(out, line.Seq, c.text[:min(len(c.text), seamBytes)])
	}
	out.add(line.Seq, c.text)
}

// checkSeam redacts both sides of a seam separately and together. If the results differ, it marks
// everything from the first difference to the last for removal, in all affected lines.
func (s *seams) checkSeam(out *output, seq int64, next string) {
	before := out.tail[lastLines(out.tail):]
	both := before + next
	joined := s.redactor.Text(both)
	if joined == both || joined == s.redactor.Text(before)+s.redactor.Text(next) {
		return
	}
	before, next, joined = s.narrow(before, next, joined)
	both = before + next
	start := commonPrefix(joined, both)
	end := len(both) - commonSuffix(joined[start:], both[start:])
	mark := joined[start : len(joined)-(len(both)-end)]
	at := len(before) - len(out.tail) // offset of the first piece in both
	for _, p := range append(slices.Clone(out.pieces), piece{seq: seq, kept: len(next)}) {
		from, to := max(start, at), min(end, at+p.kept)
		if from < to {
			s.redactions[p.seq] = append(s.redactions[p.seq], redaction{from - at + p.dropped, to - at + p.dropped, mark})
			mark = ""
		}
		at += p.kept
	}
}

// narrow drops lines outside the difference from both sides. Redacting them separately gives the
// same result.
func (s *seams) narrow(before, next, joined string) (string, string, string) {
	for at := strings.LastIndexByte(before, '\n'); at >= 0; at = strings.LastIndexByte(before[:at], '\n') {
		head, rest := s.redactor.Text(before[:at+1]), s.redactor.Text(before[at+1:]+next)
		if head+rest == joined {
			before, joined = before[at+1:], rest
			break
		}
	}
	for at, lines := 0, 0; lines < seamLines; lines++ {
		end := strings.IndexByte(next[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
		head, rest := s.redactor.Text(before+next[:at]), s.redactor.Text(next[at:])
		if head+rest == joined {
			return before, next[:at], head
		}
	}
	return before, next, joined
}

// lastLines returns the offset of the last seamLines lines of a text, or of an unterminated
// private key.
func lastLines(text string) int {
	if begin := strings.LastIndex(text, "-----BEGIN "); begin > strings.LastIndex(text, "-----END ") {
		return begin
	}
	at := len(text)
	for range seamLines {
		if at = strings.LastIndexByte(text[:at], '\n'); at < 0 {
			return 0
		}
	}
	return at + 1
}

// add appends a chunk to the tail and trims the tail to seamBytes.
func (o *output) add(seq int64, text string) {
	p := piece{seq: seq, kept: min(len(text), seamBytes)}
	p.dropped = len(text) - p.kept
	o.pieces = append(o.pieces, p)
	o.tail += text[p.dropped:]
	for surplus := len(o.tail) - seamBytes; surplus > 0; surplus = len(o.tail) - seamBytes {
		n := min(surplus, o.pieces[0].kept)
		o.pieces[0].kept -= n
		o.pieces[0].dropped += n
		o.tail = o.tail[n:]
		if o.pieces[0].kept == 0 {
			o.pieces = o.pieces[1:]
		}
	}
	o.tail = strings.Clone(o.tail)
}

// apply returns the line with its losses applied. It does not modify line.Raw.
func (s *seams) apply(line events.Line) []byte {
	losses := s.redactions[line.Seq]
	if len(losses) == 0 {
		return line.Raw
	}
	c, _ := chunkOf(line)
	slices.SortStableFunc(losses, func(a, b redaction) int { return a.from - b.from })
	var text strings.Builder
	done := 0
	for _, l := range losses {
		if l.from >= done {
			text.WriteString(c.text[done:l.from])
			text.WriteString(l.mark)
		}
		done = max(done, l.to)
	}
	text.WriteString(c.text[done:])
	raw := canonjson.AppendString(slices.Clone(line.Raw[:c.start]), text.String())
	return append(raw, line.Raw[c.end:]...)
}

// commonPrefix returns the length in bytes of the common prefix, without splitting a character.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

func commonSuffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(b[len(b)-n]) {
		n--
	}
	return n
}
