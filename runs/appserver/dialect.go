package appserver

import (
	"bytes"
	"encoding/json"
	"io"

	"ac/internal/canonjson"
	"ac/internal/durable"
)

// dialect is the provider's form of JSON-RPC as an object stream: an object a
// line, without the jsonrpc member.
type dialect struct {
	lines <-chan []byte
	w     io.Writer
}

// wire is a message of ours in the order in which the provider documents it.
type wire struct {
	ID     *json.RawMessage `json:"id,omitempty"`
	Method string           `json:"method,omitempty"`
	Params *json.RawMessage `json:"params,omitempty"`
	Result *json.RawMessage `json:"result,omitempty"`
	Error  *json.RawMessage `json:"error,omitempty"`
}

// WriteObject writes one message on a line of its own.
func (d *dialect) WriteObject(object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var m wire
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	if text, err = canonjson.Marshal(m); err != nil {
		return err
	}
	return durable.WriteAll(d.w, append(text, '\n'))
}

// ReadObject gives the next line that is a message.
func (d *dialect) ReadObject(into any) error {
	for line := range d.lines {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, into) == nil {
			return nil
		}
	}
	return io.EOF
}

// Close does nothing: the process and its pipes belong to the supervisor.
func (d *dialect) Close() error { return nil }
