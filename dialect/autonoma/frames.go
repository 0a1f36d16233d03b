package autonoma

// Frames: decoding requests, and encoding replies and events.

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"ac/internal/canonjson"
	"ac/internal/fault"
	"ac/internal/ulid"
)

// Limits of frames, in bytes and levels.
const (
	maxFrame   = 24 << 20 // from a client
	maxNesting = 64
	maxAnswer  = 16 << 20
	maxID      = 256
	maxError   = 2000 // characters
)

// errTooDeep ends a connection; errNoRequest is only logged on stderr.
var (
	errTooDeep   = errors.New("the frame is nested too deeply")
	errNoRequest = errors.New("the frame is no request")
)

// request is a frame from a client. id is kept as it was sent.
type request struct {
	id     json.RawMessage
	method string
	params json.RawMessage // object without null members
	bad    error           // why the params are invalid
}

// parseRequest parses a frame. It ignores unknown members; the last of duplicate members counts.
func parseRequest(text []byte) (r request, err error) {
	if canonjson.Depth(text) > maxNesting {
		return r, errTooDeep
	}
	var id, method, params []byte
	if err := canonjson.Members(text, func(m canonjson.Member) {
		switch string(m.Key) {
		case "id":
			id = m.Value
		case "method":
			method = m.Value
		case "params":
			params = m.Value
		}
	}); err != nil {
		return r, errNoRequest
	}
	if !isID(id) || len(method) == 0 || method[0] != '"' {
		return r, errNoRequest
	}
	r.id, r.method = bytes.ToValidUTF8(id, []byte("\uFFFD")), canonjson.Unquote(method)
	r.params, r.bad = plainParams(params)
	return r, nil
}

// isID reports whether a value is a valid request id: a short text or a number.
func isID(id []byte) bool {
	if len(id) == 0 || len(id) > 6*maxID+2 {
		return false
	}
	if id[0] == '"' {
		return len(canonjson.Unquote(id)) <= maxID
	}
	return id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

// plainParams returns the params as an object without null members. Clients write missing params in
// four ways: {}, [], null, or no member at all.
func plainParams(raw []byte) (json.RawMessage, error) {
	switch text := string(bytes.TrimSpace(raw)); {
	case text == "" || text == "null" || strings.HasPrefix(text, "[") && strings.TrimSpace(text[1:]) == "]":
		return json.RawMessage("{}"), nil
	case text[0] != '{':
		return nil, protocolError("invalid params: must be an object")
	}
	plain := []byte{'{'}
	err := canonjson.Members(raw, func(m canonjson.Member) {
		if string(m.Value) == "null" {
			return
		}
		if len(plain) > 1 {
			plain = append(plain, ',')
		}
		plain = append(append(canonjson.AppendString(plain, string(m.Key)), ':'), m.Value...)
	})
	return append(plain, '}'), err
}

// protocolError is an error with a message for clients.
type protocolError string

func (e protocolError) Error() string { return string(e) }

// success is the answer to a request that succeeded. It has no error member, because clients treat
// any as a failure.
type success struct {
	ID     json.RawMessage `json:"id"`
	Result any             `json:"result"`
	// LogID identifies the run that the answer is about.
	LogID string `json:"conversation_log_id,omitempty"`
}

// failure is the answer to a request that failed.
type failure struct {
	ID    json.RawMessage `json:"id"`
	Error string          `json:"error"`
}

// event is a frame that is not an answer.
type event struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

// logID returns the id of a run in answers, "" if it has none.
func logID(run string) string {
	text, _ := ulid.UUID(run)
	return text
}

// oneLine returns an error as one line for people.
func oneLine(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*fault.Error](err); ok {
		if e.Reason == fault.InvalidParams {
			text = "invalid params: " + issuesOf(e)
		}
		if e.Reason == fault.Denied {
			if rule, cut := strings.CutPrefix(e.Message, "Policy denied launch: "); cut {
				text = "not allowed: " + rule
			} else if rule, cut := strings.CutPrefix(e.Message, "Policy denied approval: "); cut {
				text = "not allowed: " + rule
			}
		}
	}
	runes := []rune(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }), " "))
	return strings.ToValidUTF8(string(runes[:min(len(runes), maxError)]), "\uFFFD")
}

// issuesOf lists the issues of an error in the words of the protocol.
func issuesOf(e *fault.Error) string {
	issues := slices.Clone(e.Issues)
	for i, issue := range issues {
		if rest, found := strings.CutPrefix(issue.Message, "must have at most "); found && strings.HasSuffix(rest, " bytes") {
			issues[i].Message = "must not be longer than " + rest
		}
	}
	return fault.JoinIssues(issues)
}
