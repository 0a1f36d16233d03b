package acecode

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestWhoMayAsk checks the order of the request checks, also for sockets.
func TestWhoMayAsk(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	own := s.url
	other := "http://localhost:1"
	for _, c := range []struct {
		what, path string
		header     []string
		code       int
		word       string
	}{
		{"nothing is needed", "/api/health", nil, 200, `"dialect":"acecode"`},
		{"the right token", "/api/health", []string{tokenHeader, testToken}, 200, ""},
		{"as bearer", "/api/health", []string{"Authorization", "Bearer " + testToken}, 200, ""},
		{"in the address", "/api/health?token=" + testToken, nil, 200, ""},
		{"a wrong one", "/api/health", []string{tokenHeader, "no"}, 401, "bad token"},
		{"a wrong one on an unknown path", "/api/none?token=no", nil, 401, "bad token"},
		{"DNS rebinding", "/api/health", []string{"Host", "evil.example:" + s.server.socket.Guard().Port(), tokenHeader, testToken}, 403, wordHost},
		{"another port", "/api/health", []string{"Host", "127.0.0.1:1"}, 403, wordHost},
		{"a page of another site", "/api/health", []string{"Origin", "https://evil.example", tokenHeader, testToken}, 403, wordOrigin},
		{"a sandboxed page", "/api/health", []string{"Origin", "null", tokenHeader, testToken}, 403, wordOrigin},
		{"what a browser calls cross-site", "/api/health", []string{"Sec-Fetch-Site", "cross-site", tokenHeader, testToken}, 403, wordOrigin},
		{"its own page", "/api/health", []string{"Origin", own}, 200, ""},
		{"a page of another port", "/api/health", []string{"Origin", other}, 401, "no token"},
		{"a page of another port with the token", "/api/health", []string{"Origin", other, tokenHeader, testToken}, 200, ""},
		{"the host first", "/api/health", []string{"Host", "evil.example", "Origin", "null", tokenHeader, "no"}, 403, wordHost},
		{"then the origin", "/api/health", []string{"Origin", "null", tokenHeader, "no"}, 403, wordOrigin},
	} {
		r := s.do("GET", c.path, "", c.header...)
		if r.code != c.code || !strings.Contains(r.text, c.word) {
			t.Errorf("%s: %d %s", c.what, r.code, r.text)
		}
		if origin := r.header.Get("Access-Control-Allow-Origin"); (origin == other) != strings.Contains(c.what, "another port with") && strings.Contains(c.what, "another port w") {
			t.Errorf("%s: allowed %q", c.what, origin)
		}
	}
	r := s.do("OPTIONS", "/api/sessions", "", "Origin", other)
	if r.code != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != other || !strings.Contains(r.header.Get("Access-Control-Allow-Headers"), tokenHeader) {
		t.Errorf("%d %v", r.code, r.header)
	}
	if r := s.do("OPTIONS", "/api/sessions", "", "Origin", "https://evil.example"); r.code != http.StatusForbidden || r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%d %v", r.code, r.header)
	}
	for code, header := range map[int]http.Header{
		http.StatusUnauthorized: {tokenHeader: {"no"}}, http.StatusForbidden: {"Origin": {"https://evil.example"}},
	} {
		conn, answer, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+"/ws/sessions/x", &websocket.DialOptions{HTTPHeader: header})
		if err == nil {
			_ = conn.CloseNow()
			t.Fatalf("a socket with %v", header)
		}
		if answer.StatusCode != code {
			t.Errorf("a socket with %v: %d", header, answer.StatusCode)
		}
		_ = answer.Body.Close()
	}
}

// TestOtherMachines checks that a listener reachable from other machines requires its token from
// every client, and serves loopback-only routes only to this machine.
func TestOtherMachines(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) { o.Place.Address = "0.0.0.0:0"; o.Place.Names = []string{"box.example"} })
	if r := s.do("GET", "/api/health", ""); r.code != http.StatusUnauthorized || !strings.Contains(r.text, "no token") {
		t.Errorf("%d %s", r.code, r.text)
	}
	host := "box.example:" + s.server.socket.Guard().Port()
	if r := s.do("GET", "/api/health", "", "Host", host, tokenHeader, testToken); r.code != http.StatusOK {
		t.Errorf("by its name: %d %s", r.code, r.text)
	}
	far := &http.Request{RemoteAddr: "192.0.2.7:4711"}
	if isNear(far) {
		t.Error("another machine counts as this one")
	}
}
