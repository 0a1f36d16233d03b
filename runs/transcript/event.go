package transcript

// What the fold reads of the lines of a log.

import (
	"bytes"
	"encoding/json"
	"strings"

	"ac/internal/canonjson"
)

// Event is what the fold reads of an event.
type Event struct {
	ID         string          `json:"event_id"`
	Type       string          `json:"type"`
	Actor      string          `json:"actor"`
	RunID      string          `json:"run_id"`
	SessionRef string          `json:"session_ref"`
	At         string          `json:"ts_wallclock"`
	Payload    json.RawMessage `json:"payload"`
}

// readEvent reads a line of a log. The payload is a part of the line. It reports
// whether the line is an object.
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

// readChunk reads the payload of provider.raw.
func readChunk(payload []byte) (stream string, chunk []byte, ok bool) {
	err := canonjson.Members(payload, func(m canonjson.Member) {
		switch {
		case m.Value[0] != '"':
		case string(m.Key) == "stream":
			stream = canonjson.Unquote(m.Value)
		case string(m.Key) == "chunk":
			chunk = m.Value
		}
	})
	if err != nil || chunk == nil {
		return "", nil, false
	}
	if bytes.IndexByte(chunk, '\\') < 0 {
		return stream, bytes.ToValidUTF8(chunk[1:len(chunk)-1], []byte("\uFFFD")), true
	}
	return stream, []byte(valid(canonjson.Unquote(chunk))), true
}

// valid is a text without what is no UTF-8, such as lone surrogates.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
