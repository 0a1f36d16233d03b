package frames

// Truncation of frames that are too long. The snapshot contains the complete data.

import (
	"bytes"
	"encoding/json"

	"ac/internal/clip"
)

// maxFrame bounds a written frame, in bytes.
const maxFrame = 1 << 20

// maxPart bounds each text in a truncated frame, in bytes.
const maxPart = 64 << 10

// bounds limit the parts of a truncated frame.
type bounds struct {
	text int // bytes of each text
	list int // elements of each list
}

// shortenings returns the bounds to try, mildest first. Every payload fits with the last one.
func shortenings() []bounds {
	return []bounds{{maxPart, maxMessages}, {16 << 10, 500}, {4 << 10, 100}, {1 << 10, 20}, {200, 10}}
}

// Encode returns the frame as JSON. It truncates texts and lists of a frame that is too long.
func (e Envelope) Encode() ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil || len(text) <= maxFrame {
		return text, err
	}
	whole, err := json.Marshal(e.Payload)
	if err != nil {
		return nil, err
	}
	for _, c := range shortenings() {
		var payload map[string]any // the members of the payload, whatever its type
		d := json.NewDecoder(bytes.NewReader(whole))
		d.UseNumber()
		if err := d.Decode(&payload); err != nil {
			return nil, err
		}
		for name, value := range payload {
			payload[name] = c.value(name, value)
		}
		payload["truncated"] = true
		e.Payload = payload
		if text, err = json.Marshal(e); err != nil || len(text) <= maxFrame {
			break
		}
	}
	return text, err
}

// value returns a member within the bounds.
func (c bounds) value(name string, value any) any {
	switch v := value.(type) {
	case string:
		return clip.Head(v, c.text)
	case map[string]any:
		for inner, member := range v {
			v[inner] = c.value(inner, member)
		}
	case []any:
		if over := len(v) - c.list; over > 0 {
			if v = v[:c.list:c.list]; name == "messages" { // keep the newest messages
				v = value.([]any)[over:]
			}
		}
		for i, element := range v {
			v[i] = c.value("", element)
		}
		return v
	}
	return value
}
