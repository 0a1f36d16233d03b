package probe_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/internal/fault"
	"ac/internal/probe"
)

// served starts a server that answers /v1/models with a status and a text.
func served(t *testing.T, status int, text string) (base string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("X-Key") != "k" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func TestModels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]probe.Result{
		`{"data":[{"id":"a","context_length":9},{"id":"b"},{"id":"a"},{},7]}`: {Models: []string{"a", "b"}, ContextWindows: map[string]int64{"a": 9}},
		`{"models":[{"name":"models/g","inputTokenLimit":5},"plain"]}`:        {Models: []string{"g", "plain"}, ContextWindows: map[string]int64{"g": 5}},
		`{"data":[]}`: {Models: []string{}, ContextWindows: map[string]int64{}},
	} {
		got, err := probe.Models(t.Context(), probe.Request{BaseURL: served(t, 200, text), Headers: http.Header{"X-Key": {"k"}}})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	headers := http.Header{"X-Key": {"k"}}
	for name, c := range map[string]struct {
		base string
		want fault.Reason
	}{
		"no address":       {"file:///etc/passwd", fault.InvalidURL},
		"a user":           {"http://u:p@127.0.0.1/", fault.InvalidURL},
		"another host":     {"http://192.0.2.1/v1", fault.HostNotAllowed},
		"a link-local one": {"http://169.254.169.254/latest", fault.HostNotAllowed},
		"every address":    {"http://0.0.0.0:1/", fault.HostNotAllowed},
		"mapped":           {"http://[::ffff:192.0.2.1]/", fault.HostNotAllowed},
		"nobody listens":   {"http://127.0.0.1:1/", fault.ProbeFailed},
		"refused":          {served(t, 401, `{}`), fault.ProbeHTTPError},
		"redirected":       {served(t, 302, ``), fault.ProbeHTTPError},
		"no JSON":          {served(t, 200, `<html>`), fault.ProbeBadJSON},
		"no list":          {served(t, 200, `{"object":"x"}`), fault.ProbeBadJSON},
		"too much":         {served(t, 200, `{"data":["`+strings.Repeat("x", 1<<20)+`"]}`), fault.ProbeBadJSON},
	} {
		_, err := probe.Models(t.Context(), probe.Request{BaseURL: c.base, Headers: headers})
		if !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if e, ok := errors.AsType[*fault.Error](err); ok && name == "redirected" && e.Data != (probe.HTTPStatus{Status: 302}) {
			t.Errorf("%+v", e.Data)
		}
	}
}

// TestAllowed checks that a host can be allowed by its name, with or without a port.
func TestAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allowed string
		want    fault.Reason
	}{{"models.invalid", fault.ProbeFailed}, {"models.invalid:443", fault.ProbeFailed}, {"models.invalid:80", fault.HostNotAllowed}} {
		_, err := probe.Models(t.Context(), probe.Request{BaseURL: "https://MODELS.invalid/v1", Allowed: []string{c.allowed}})
		if !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", c.allowed, err, c.want)
		}
	}
}
