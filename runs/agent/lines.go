package agent

// JSON-RPC over lines, as used by codex and the Agent Client Protocol. Our ids are numbered from
// 1. The agent's ids are copied verbatim.

import (
	"bytes"
	"encoding/json"
	"strconv"

	"ac/internal/canonjson"
)

// rpcConn is our side of a JSON-RPC connection over lines.
type rpcConn struct {
	send    func(frame []byte) error
	version string // value of the member jsonrpc, "" for none
	next    int64
	pending map[int64]func(result json.RawMessage, failed *failure)
}

// failure is the error member of a response.
type failure struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// message is one line from the agent.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// frame is a line to the agent. Its members are encoded JSON, nil for none.
type frame struct{ id, method, params, result, failed []byte }

// write sends a line with the members in the protocols' order. An id is written exactly as the
// agent sent it.
func (l *rpcConn) write(f frame) error {
	text := []byte{'{'}
	member := func(name string, value []byte) {
		if value == nil {
			return
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(append(append(text, '"'), name...), `":`...), value...)
	}
	if l.version != "" {
		member("jsonrpc", canonjson.AppendString(nil, l.version))
	}
	member("id", f.id)
	member("method", f.method)
	member("params", f.params)
	member("result", f.result)
	member("error", f.failed)
	return l.send(append(text, '}'))
}

// call sends a request. done is called with the response, before any later line is processed. It
// is never called if the agent does not respond.
func (l *rpcConn) call(method string, params any, done func(result json.RawMessage, failed *failure)) error {
	text, err := canonjson.Marshal(params)
	if err != nil {
		return err
	}
	if l.pending == nil {
		l.pending = map[int64]func(json.RawMessage, *failure){}
	}
	l.next++
	id := l.next
	l.pending[id] = done
	return l.write(frame{id: strconv.AppendInt(nil, id, 10), method: canonjson.AppendString(nil, method), params: text})
}

// notify sends a notification. nil params are omitted.
func (l *rpcConn) notify(method string, params any) error {
	f := frame{method: canonjson.AppendString(nil, method)}
	if params != nil {
		text, err := canonjson.Marshal(params)
		if err != nil {
			return err
		}
		f.params = text
	}
	return l.write(f)
}

// reply responds to a request of the agent.
func (l *rpcConn) reply(id json.RawMessage, result any) error {
	text, err := canonjson.Marshal(result)
	if err != nil {
		return err
	}
	return l.write(frame{id: id, result: text})
}

// refuse responds with an error to a request that we do not support.
func (l *rpcConn) refuse(id json.RawMessage, method string) error {
	text, err := canonjson.Marshal(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{-32601, "ac does not support " + method})
	if err != nil {
		return err
	}
	return l.write(frame{id: id, failed: text})
}

// take decodes a line. A response to one of our calls is passed to its done function. ok is false
// for responses and for lines that are not messages.
func (l *rpcConn) take(line []byte) (m message, ok bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &m) != nil {
		return m, false
	}
	if m.Method != "" {
		return m, true
	}
	var id int64
	if json.Unmarshal(m.ID, &id) != nil {
		return m, false
	}
	done, known := l.pending[id]
	if !known {
		return m, false
	}
	delete(l.pending, id)
	if len(m.Error) > 0 && string(m.Error) != "null" {
		failed := &failure{}
		if json.Unmarshal(m.Error, failed) != nil || failed.Message == "" {
			failed.Message = string(m.Error)
		}
		done(nil, failed)
	} else {
		done(m.Result, nil)
	}
	return m, false
}

// isRequest reports whether a message expects a response. An id may be 0 or a string.
func (m message) isRequest() bool { return len(m.ID) > 0 && string(m.ID) != "null" }

// words returns the error's message, with its details if there are any.
func (f *failure) words() string {
	var data struct {
		Details string `json:"details"`
	}
	if json.Unmarshal(f.Data, &data) == nil && data.Details != "" {
		return f.Message + ": " + data.Details
	}
	return f.Message
}

// decode decodes JSON and ignores errors: members of an unexpected type stay unset.
func decode(text []byte, into any) { _ = json.Unmarshal(text, into) }
