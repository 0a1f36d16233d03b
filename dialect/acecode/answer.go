package acecode

// Request and response bodies.

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"runtime/debug"
	"unicode/utf8"

	"ac/dialect/acecode/frames"
	"ac/internal/fault"
)

// refusal is an error response.
type refusal struct {
	status int
	body   errorBody
}

// errorBody is the body of a refusal.
type errorBody struct {
	OK       *bool   `json:"ok,omitempty"`
	Error    string  `json:"error"`
	Message  string  `json:"message,omitempty"`
	ID       string  `json:"id,omitempty"`
	Command  *string `json:"command,omitempty"`
	Shell    string  `json:"shell,omitempty"`
	Limit    int     `json:"limit,omitempty"`
	Status   int     `json:"status,omitempty"`
	ActiveID string  `json:"active_turn_id,omitempty"`
}

func (r *refusal) Error() string { return r.body.Error }

// refuse returns a refusal with an error code.
func refuse(status int, word string) error { return &refusal{status, errorBody{Error: word}} }

// explain returns a refusal with an error code and a message.
func explain(status int, word, message string) error {
	return &refusal{status, errorBody{Error: word, Message: message}}
}

// bad returns a refusal of an invalid body.
func bad(message string) error { return explain(http.StatusBadRequest, "BAD_REQUEST", message) }

func unknownSession() error { return refuse(http.StatusNotFound, "unknown session") }

func unknownWorkspace() error { return refuse(http.StatusNotFound, "unknown workspace") }

// refusalOf converts an error of an operation into a refusal.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	reason := fault.ReasonOf(err)
	if reason == fault.InvalidParams {
		return &refusal{http.StatusBadRequest, errorBody{Error: "BAD_REQUEST", Message: inFull(err)}}
	}
	return &refusal{http.StatusConflict, errorBody{Error: string(reason), Message: err.Error()}}
}

// inFull returns the text of an error, including its invalid fields.
func inFull(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.InFull()
	}
	return err.Error()
}

// request is an admitted request.
type request struct {
	*http.Request
	w     http.ResponseWriter
	shape frames.Shape
}

// handler handles a request. It returns nil for status 204, a value for 200, or a status with a
// value.
type handler func(s *server, r *request) (any, error)

// status is a response with a status other than 200.
type status struct {
	code  int
	value any
}

// blob is a response that is not JSON.
type blob struct {
	kind    string
	content []byte
	header  map[string]string
}

// methods are the handlers of a path, by HTTP method.
type methods map[string]handler

// serve returns the handler of a path.
func (m methods) serve(s *server) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h, ok := m[r.Method]
		if !ok {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
				if _, has := m[method]; has {
					w.Header().Add("Allow", method)
				}
			}
			s.answer(w, nil, refuse(http.StatusMethodNotAllowed, "method not allowed"))
			return
		}
		result, err := s.carryOut(h, &request{r, w, s.shapeOf(r)})
		s.answer(w, result, err)
	}
}

// carryOut calls a handler. It turns a panic into the failure of this request.
func (s *server) carryOut(h handler, r *request) (result any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.Log.Error("a request panicked", "path", r.URL.Path, "panic", cause, "stack", string(debug.Stack()))
			err = refuse(http.StatusInternalServerError, "internal error")
		}
	}()
	return h(s, r)
}

// taken is the result of a handler that took over the connection.
type taken struct{}

// answer writes a response.
func (s *server) answer(w http.ResponseWriter, result any, err error) {
	code := http.StatusOK
	if err != nil {
		refused := refusalOf(err)
		code, result = refused.status, refused.body
	}
	switch v := result.(type) {
	case taken:
		return
	case nil:
		w.WriteHeader(http.StatusNoContent)
		return
	case status:
		code, result = v.code, v.value
	case blob:
		for name, value := range v.header {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", v.kind)
		headers(w)
		_, _ = w.Write(v.content) // best effort: the client may be gone
		return
	}
	text, err := json.Marshal(result)
	if err != nil {
		s.Log.Error("an answer cannot be written", "error", err)
		code, text = http.StatusInternalServerError, []byte(`{"error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	headers(w)
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n')) // best effort: the client may be gone
}

func headers(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

// Bounds of bodies, in bytes.
const (
	maxBody       = 1<<20 + 64<<10 // a text of 1 MiB, plus the JSON around it
	maxAttachment = 36 << 20
)

// body reads the body of a request, up to limit bytes.
func (r *request) body(limit int64) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(r.w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, &refusal{http.StatusRequestEntityTooLarge, errorBody{Error: "text_too_large", Limit: int(limit)}}
	}
	if err != nil || !utf8.Valid(text) {
		return nil, refuse(http.StatusBadRequest, "bad json")
	}
	return bytes.TrimSpace(text), nil
}

// decode decodes the JSON object in a request's body. An empty body counts as an empty object.
func (r *request) decode(into any) error { return r.decodeUpTo(maxBody, into) }

func (r *request) decodeUpTo(limit int64, into any) error {
	text, err := r.body(limit)
	if err != nil || len(text) == 0 {
		return err
	}
	return decodeObject(text, into)
}

// decodeObject decodes a JSON object.
func decodeObject(text []byte, into any) error {
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return refuse(http.StatusBadRequest, "bad json")
	}
	err := json.Unmarshal(text, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return bad(wrong.Field + " must be " + kindOf(wrong.Type))
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "bad json")
	}
	return nil
}

// kindOf returns the JSON name of a Go type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a number"
}
