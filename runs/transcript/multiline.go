package transcript

// Output that is one JSON value over several lines, as gemini prints it. The lines are held back
// until the value is complete or impossible.

import (
	"bytes"
	"encoding/json"
)

// maxHeld bounds the text held back, in bytes.
const maxHeld = 1 << 20

// pendingValue holds the lines of a possible value. Its zero value is empty.
type pendingValue struct {
	text     []byte
	depth    int
	inString bool
	escaped  bool
}

func (h *pendingValue) clone() pendingValue {
	c := *h
	c.text = bytes.Clone(h.text)
	return c
}

// add adds a line. It reports whether the value is now complete, and whether it can still become
// complete.
func (h *pendingValue) add(line []byte) (complete, possible bool) {
	h.text = append(append(h.text, line...), '\n')
	for i, c := range line {
		switch {
		case h.escaped:
			h.escaped = false
		case h.inString:
			h.escaped, h.inString = c == '\\', c != '"'
		case c == '"':
			h.inString = true
		case c == '{' || c == '[':
			h.depth++
		case c == '}' || c == ']':
			if h.depth--; h.depth == 0 {
				return len(bytes.TrimSpace(line[i+1:])) == 0, false
			}
		}
	}
	// No string spans several lines, and an object begins with a key.
	return false, !h.inString && len(h.text) < maxHeld && beginsObject(h.text)
}

func beginsObject(text []byte) bool {
	text = bytes.TrimSpace(bytes.TrimSpace(text)[1:])
	return len(text) == 0 || text[0] == '"' || text[0] == '}'
}

// hold handles a line that may belong to a value. It reports whether it consumed the line.
func (s *Session) hold(line []byte) bool {
	if len(s.value.text) == 0 && !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return false
	}
	complete, possible := s.value.add(line)
	switch {
	case possible:
		return true
	case complete && s.sniffed < maxSniffs && json.Valid(s.value.text):
		s.sniffed++
		if s.sniff(s.value.text); s.decoder != nil {
			text := s.value.text
			s.value = pendingValue{}
			s.endProse()
			s.decoder.message(s, bytes.TrimSpace(text))
			return true
		}
	}
	s.release()
	return true
}

// release handles the held lines as plain text.
func (s *Session) release() {
	text := s.value.text
	s.value = pendingValue{}
	for line := range bytes.Lines(text) {
		s.say(bytes.TrimSuffix(line, []byte("\n")))
	}
}
