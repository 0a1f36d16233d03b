package web

// Reading queries and bodies.

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"ac/company"
	"ac/internal/canonjson"
	"ac/internal/param"
	"ac/internal/shape"
)

const (
	maxBody = 1 << 20
	maxRows = 5000
	// bodyPatience is how long a client may take to send a body.
	bodyPatience = 30 * time.Second
)

// queryOf parses the query and refuses an invalid one.
func queryOf(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the query cannot be read: %s", err)
	}
	return query, nil
}

// idOf reads an id from the query, "" if there is none.
func idOf(query url.Values, name string) (string, error) {
	id := query.Get(name)
	if id == "" {
		return "", nil
	}
	if why := shape.CheckID(id); why != "" {
		return "", refuse(http.StatusBadRequest, "%s: %s", name, why)
	}
	return id, nil
}

// flagOf reads a boolean. An unknown value counts as absent.
func flagOf(query url.Values, name string, absent bool) bool {
	switch strings.ToLower(query.Get(name)) {
	case "1", "true", "yes":
		return true
	case "0", "false", "no":
		return false
	}
	return absent
}

// rowsOf reads a limit. Anything but a positive number counts as absent.
func rowsOf(query url.Values, absent int) int {
	given := query.Get("limit")
	n, err := strconv.Atoi(given)
	if errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(given, "-") {
		n = maxRows
	} else if err != nil || n < 1 {
		n = absent
	}
	return min(n, maxRows)
}

// indexStep reads how to prepare the index for a request.
func (s *Server) indexStep(query url.Values) company.IndexStep {
	return company.IndexStep{RefreshIndex: flagOf(query, "refresh_index", false), SyncIndex: flagOf(query, "sync_index", s.opts.SyncIndex)}
}

// body reads the JSON object in the body of a request.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(s.opts.Env.Clock.Now().Add(bodyPatience)) // unsupported by test recorders
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{}) // as above
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body has more than %d bytes", maxBody)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body cannot be read")
	}
	end, err := canonjson.Value(text, 0)
	if err != nil || strings.TrimSpace(string(text[end:])) != "" {
		return nil, refuse(http.StatusBadRequest, "the body is not JSON")
	}
	if text = []byte(strings.TrimSpace(string(text))); text[0] != '{' {
		return nil, refuse(http.StatusBadRequest, "the body is not a JSON object")
	}
	return text, nil
}

// decode reads the body into a struct by the rules in its tags.
func decode[T any](s *Server, w http.ResponseWriter, r *http.Request) (v T, err error) {
	text, err := s.body(w, r)
	if err == nil {
		err = param.NewDecoder(reflect.TypeFor[T]()).Decode(text, &v)
	}
	return v, err
}
