package transcript

// Decoding the lines of a log for the fold.

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"ac/events"
	"ac/internal/canonjson"
)

// Event is the part of an event that the fold uses. Its payload is valid JSON, or empty.
type Event struct {
	ID         string          `json:"event_id"`
	Type       string          `json:"type"`
	Actor      string          `json:"actor"`
	RunID      string          `json:"run_id"`
	SessionRef string          `json:"session_ref"`
	At         string          `json:"ts_wallclock"`
	Payload    json.RawMessage `json:"payload"`
}

// readEvent decodes a line of a log. The payload shares the line's memory. ok is false if the
// line is not an object.
func readEvent(line []byte) (e Event, ok bool) {
	err := canonjson.Members(line, func(m canonjson.Member) {
		var to *string
		switch string(m.Key) {
		case "event_id":
			to = &e.ID
		case "type":
			to = &e.Type
		case "actor":
			to = &e.Actor
		case "run_id":
			to = &e.RunID
		case "session_ref":
			to = &e.SessionRef
		case "ts_wallclock":
			to = &e.At
		case "payload":
			e.Payload = m.Value
			return
		default:
			return
		}
		*to = ""
		if m.Value[0] == '"' {
			*to = valid(canonjson.Unquote(m.Value))
		}
	})
	return e, err == nil
}

// Output decodes a line of a log. kind is its type, "" for a line that is not an event. If ok,
// the line holds chunk, a piece of one of the agent's streams. chunk uses the memory of into if
// it fits.
func Output(line, into []byte) (kind, stream string, chunk []byte, ok bool) {
	e, event := readEvent(line)
	if !event {
		return "", "", nil, false
	}
	if e.Type == events.ProviderRaw {
		o := readChunk(e.Payload, into)
		return e.Type, o.stream, o.chunk, o.hasChunk
	}
	return e.Type, "", nil, false
}

// agentOutput is a piece of one of the agent's streams.
type agentOutput struct {
	stream   string
	chunk    []byte
	hasChunk bool // there is a chunk
}

// readChunk decodes the payload of provider.raw into the memory of into, if it fits.
func readChunk(payload, into []byte) (o agentOutput) {
	var literal []byte
	object := members(payload, func(name, value []byte) {
		switch {
		case value[0] != '"':
		case string(name) == "stream":
			o.stream = streamOf(value)
		case string(name) == "chunk":
			literal = value
		}
	})
	if !object || literal == nil {
		return agentOutput{}
	}
	o.hasChunk, o.chunk = true, canonjson.AppendUnquoted(into[:0], literal)
	if !utf8.Valid(o.chunk) {
		o.chunk = bytes.ToValidUTF8(o.chunk, []byte("\uFFFD"))
	}
	return o
}

// streamOf returns the name of the output stream: stderr, or stdout for any other value.
func streamOf(literal []byte) string {
	if string(literal) == `"stderr"` {
		return "stderr"
	}
	return "stdout"
}

// valid replaces invalid UTF-8, such as lone surrogates, by U+FFFD.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
