package rpc

// Messages: parsing requests and writing answers.

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"ac/internal/canonjson"
	"ac/internal/fault"
)

// Codes of JSON-RPC errors.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeApplication    = -32000
)

// request is a parsed request. id is the id as it was sent, except for invalid
// UTF-8.
type request struct {
	id     []byte
	method string
	params []byte // nil when absent
}

// WireError is an error on the wire.
type WireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *WireError) Error() string { return e.Message }

var (
	errParse   = &WireError{Code: CodeParse, Message: "Parse error"}
	errRequest = &WireError{Code: CodeInvalidRequest, Message: "Invalid Request"}
)

var nullID = []byte("null")

// parse parses a message. A notification is a request without id and is not an error. For a
// malformed message, the request holds the id to answer with.
func parse(line []byte) (request, *WireError) {
	r := request{id: nullID}
	var version, method, id, params []byte
	err := canonjson.Members(line, func(m canonjson.Member) {
		switch string(m.Key) {
		case "jsonrpc":
			version = m.Value
		case "method":
			method = m.Value
		case "id":
			id = m.Value
		case "params":
			params = m.Value
		}
	})
	if errors.Is(err, canonjson.ErrNoObject) {
		return r, errRequest
	}
	if err != nil {
		return r, errParse
	}
	legal := id == nil || isID(id)
	if legal && id != nil {
		r.id = bytes.ToValidUTF8(bytes.Clone(id), []byte("\uFFFD"))
	}
	if len(version) == 0 || version[0] != '"' || canonjson.Unquote(version) != "2.0" {
		return r, errRequest
	}
	if len(method) == 0 || method[0] != '"' || len(method) == 2 || !legal {
		return r, errRequest
	}
	if id == nil {
		r.id = nil
	}
	r.method, r.params = canonjson.Unquote(method), params
	return r, nil
}

// isID reports whether a raw value is a valid id: a string, a number or null.
func isID(raw []byte) bool {
	switch raw[0] {
	case '{', '[', 't', 'f':
		return false
	}
	return true
}

// ToWire maps any error to the wire. All errors are mapped here.
func ToWire(err error) *WireError {
	if e, ok := errors.AsType[*WireError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Reason == fault.InvalidParams {
		return &WireError{Code: CodeInvalidParams, Message: "Invalid params", Data: e.Issues}
	}
	data := applicationData{Reason: fault.ReasonOf(err)}
	if e, ok := errors.AsType[*fault.Error](err); ok {
		data.members = e.Data
	}
	return &WireError{Code: CodeApplication, Message: err.Error(), Data: data}
}

// applicationData is the data of an application error: its reason, then the members of the error's
// own data.
type applicationData struct {
	Reason  fault.Reason
	members any
}

func (d applicationData) MarshalJSON() ([]byte, error) {
	text, err := Encode(struct {
		Reason fault.Reason `json:"reason"`
	}{d.Reason})
	if err != nil || d.members == nil {
		return text, err
	}
	members, err := Encode(d.members)
	if err != nil || string(members) == "{}" {
		return text, err
	}
	return append(append(text[:len(text)-1], ','), members[1:]...), nil
}

// appendAnswer appends the answer to a request, LF included.
func appendAnswer(dst, id []byte, result any, err error) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
	if err == nil {
		answer, encodeErr := appendEncoded(append(dst, `,"result":`...), result)
		if encodeErr == nil {
			return append(answer, '}', '\n')
		}
		err = encodeErr
	}
	dst = append(dst, `,"error":`...)
	answer, encodeErr := appendEncoded(dst, ToWire(err))
	if encodeErr != nil {
		return append(dst, `{"code":`+strconv.Itoa(CodeApplication)+`,"message":"internal fault"}}`+"\n"...)
	}
	return append(answer, '}', '\n')
}

// Encode encodes a value as compact JSON, without HTML escaping.
func Encode(v any) ([]byte, error) { return appendEncoded(nil, v) }

// appendEncoded is Encode that appends, so that large answers are copied once.
// On failure it appends nothing.
func appendEncoded(dst []byte, v any) ([]byte, error) {
	out := appender{dst}
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.text, []byte("\n")), nil
}

// appender is an io.Writer that appends.
type appender struct{ text []byte }

func (a *appender) Write(more []byte) (int, error) {
	a.text = append(a.text, more...)
	return len(more), nil
}
