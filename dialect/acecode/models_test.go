package acecode

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ac/dialect/dialecttest"
)

// TestModels checks the answers about models. None may contain a key.
func TestModels(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer geheim" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"m-1"},{"id":"m-2"}]}`)) // the client is the test itself
	}))
	t.Cleanup(models.Close)
	for _, c := range []struct {
		method, path, body string
		code               int
		holds              string
	}{
		{"GET", "/api/models", "", 200, `[]`},
		{"POST", "/api/models", `[`, 400, `{"error":"BAD_JSON"}`},
		{"POST", "/api/models", `{"name":7}`, 400, `BAD_REQUEST`},
		{"POST", "/api/models", `{"model":"m"}`, 400, `NAME_REQUIRED`},
		{"POST", "/api/models", `{"name":"gateway"}`, 400, `MODEL_REQUIRED`},
		{"POST", "/api/models", `{"name":"g","model":"m","request_headers":{"content-type":"x"}}`, 400, `INVALID_REQUEST_HEADER`},
		{"POST", "/api/models", `{"name":"g","model":"m","base_url":"ftp://x"}`, 400, `INVALID_BASE_URL`},
		{"POST", "/api/models", `{"name":"gateway","provider":"openai","model":"gpt-4o","base_url":"https://gateway.example.com/v1","api_key":"geheim","request_headers":{"X-Team":"acecode","X-Token":"{env:ACE_GATEWAY_TOKEN}"}}`, 200, `"X-Token":"{env:ACE_GATEWAY_TOKEN}"`},
		{"POST", "/api/models", `{"name":"gateway","model":"m"}`, 409, `MODEL_NAME_EXISTS`},
		{"GET", "/api/models", "", 200, `"has_api_key":true`},
		{"PUT", "/api/models/none", `{"model":"m"}`, 404, `MODEL_NOT_FOUND`},
		{"PUT", "/api/models/gateway", `{"model":"gpt-5"}`, 200, `"X-Team":"acecode"`},
		{"PUT", "/api/models/gateway", `{"name":"door","request_headers":{}}`, 200, `"name":"door","provider":"openai","model":"gpt-5","base_url":"https://gateway.example.com/v1","is_default"`},
		{"GET", "/api/config/default-model", "", 200, `{"name":null}`},
		{"POST", "/api/config/default-model", `{"default_model_name":"none"}`, 404, `MODEL_NOT_FOUND`},
		{"POST", "/api/models/probe", `{"provider":"openai","base_url":"https://evil.example/v1"}`, 403, `HOST_NOT_ALLOWED`},
		{"POST", "/api/models/probe", `{"provider":"openai","base_url":"` + models.URL + `","request_headers":{"X":"{env:ACE_NO_SUCH_VARIABLE}"}}`, 400, `INVALID_REQUEST_HEADER`},
		{"POST", "/api/models/probe", `{"provider":"openai","base_url":"` + models.URL + `"}`, 502, `"error":"PROBE_HTTP_ERROR"`},
		{"POST", "/api/models/probe", `{"provider":"openai","base_url":"` + models.URL + `","api_key":"geheim"}`, 200, `"models":["m-1","m-2"]`},
		{"DELETE", "/api/models/none", "", 404, `MODEL_NOT_FOUND`},
		{"DELETE", "/api/models/door", "", 200, `{"ok":true}`},
	} {
		r := s.do(c.method, c.path, c.body)
		if r.code != c.code || !strings.Contains(r.text, c.holds) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, r.code, r.text)
		}
		if strings.Contains(r.text, "geheim") {
			t.Errorf("%s %s returns a key", c.method, c.path)
		}
	}
}

// TestSessionModel checks that a session's agent starts with the chosen model, and that the model
// cannot be changed during a turn.
func TestSessionModel(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.want(200, "POST", "/api/models", `{"name":"small","provider":"acp","model":"m-small","context_window":1000}`, nil)
	id := s.create("hold")
	path := "/api/sessions/" + id + "/model"
	c := s.dial("/ws/sessions/" + id)
	c.hello(id, 0)
	c.await("Token")
	s.want(200, "GET", path, "", nil, `"deleted":false`)
	s.want(409, "POST", path, `{"name":"small"}`, nil, "session is busy")
	c.send(`{"type":"abort"}`)
	c.await("Done")
	s.want(400, "POST", path, `{"name":"none"}`, nil, "unknown model")
	s.want(200, "POST", path, `{"name":"small"}`, nil, `"name":"small"`, `"model":"m-small"`, `"context_window":1000`)
	c.send(`{"type":"user_input","payload":{"text":"which model"}}`)
	c.await("Message", `"role":"assistant"`, "the model is m-small")
	s.want(200, "GET", "/api/sessions", "", nil, `"model_name":"small"`)
	c.send(`{"type":"user_input","payload":{"text":"hold"}}`)
	c.await("Token", "holding")
	s.want(409, "DELETE", "/api/models/small", "", nil, "MODEL_IN_USE")
}

// TestUsageOfModels checks that usage counts for a profile only if its session was started with
// that profile, whichever profiles exist at the time of the query.
func TestUsageOfModels(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	speak := func(model string) {
		var made struct {
			ID string `json:"session_id"`
		}
		s.want(201, "POST", "/api/sessions", `{"initial_user_message":"hi","model":"`+model+`"}`, &made)
		c := s.dial("/ws/sessions/" + made.ID)
		c.hello(made.ID, 0)
		c.await("Done")
	}
	s.want(200, "POST", "/api/models", `{"name":"small","provider":"acp","model":"m-small"}`, nil)
	speak("small")
	speak("")
	s.want(200, "POST", "/api/models", `{"name":"acp_own","provider":"acp","model":"m"}`, nil)
	for deadline := time.Now().Add(dialecttest.Patience); s.do("DELETE", "/api/models/small", "").code != 200; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a profile cannot be removed that nobody works with")
		}
	}
	var got usageAnswer
	s.want(200, "GET", "/api/usage", "", &got)
	presets := map[string]string{}
	for _, m := range got.Models {
		presets[m.Label] = m.Preset
	}
	if want := map[string]string{"small": "small", "acp_own": ""}; !maps.Equal(presets, want) {
		t.Errorf("%v, want %v", presets, want)
	}
}
