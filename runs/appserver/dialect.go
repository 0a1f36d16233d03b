package appserver

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"

	"ac/internal/canonjson"
	"ac/internal/durable"
)

// dialect is the provider's form of JSON-RPC as an object stream: an object a
// line, without the jsonrpc member.
type dialect struct {
	lines <-chan []byte

	mu sync.Mutex
	w  io.Writer
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
	return d.write(text)
}

func (d *dialect) write(text []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return durable.WriteAll(d.w, append(text, '\n'))
}

// request is what a line must have to be a request of the provider.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// refuse answers a request of the provider with its own id, byte for byte: it
// is run so that it never has to ask. It tells whether the line was one.
func (d *dialect) refuse(line []byte) bool {
	var r request
	if json.Unmarshal(line, &r) != nil || r.Method == "" || len(r.ID) == 0 || string(r.ID) == "null" {
		return false
	}
	text := append(append([]byte(`{"id":`), r.ID...), `,"error":{"code":-32601,"message":`...)
	text = append(canonjson.AppendString(text, "Unknown method: "+r.Method), "}}"...)
	_ = d.write(text) // a provider that is gone hears nothing
	return true
}

// ReadObject gives the next line that is a message.
func (d *dialect) ReadObject(into any) error {
	for line := range d.lines {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] != '{' || d.refuse(line) {
			continue
		}
		if json.Unmarshal(line, into) == nil {
			return nil
		}
	}
	return io.EOF
}

// Close does nothing: the process and its pipes belong to the supervisor.
func (d *dialect) Close() error { return nil }
