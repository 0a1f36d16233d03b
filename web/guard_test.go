package web

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHost checks which Host names the server accepts. Rejecting others defeats DNS rebinding.
func TestHost(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	port := f.guard.Port()
	for host, want := range map[string]int{
		"127.0.0.1:" + port: 200, "localhost:" + port: 200, "LocalHost:" + port: 200, "[::1]:" + port: 200, "[0:0:0:0:0:0:0:1]:" + port: 200,
		"127.0.0.1": 200, "localhost": 200, "[::1]": 200,
		"evil.example:" + port: 403, "evil.example": 403, "127.0.0.1:1": 403, "localhost:" + port + "0": 403, "127.0.0.1.evil.example:" + port: 403,
		"localhost.:" + port: 403, "127.0.0.2:" + port: 403, "0.0.0.0:" + port: 403, "[::]:" + port: 403, "127.1:" + port: 403, "2130706433:" + port: 403,
		"localhost:0" + port: 403, "[::ffff:127.0.0.1]:" + port: 403,
	} {
		for _, path := range []string{"/", "/api/health", "/api/events", "/nothing"} {
			want := want
			if path == "/nothing" && want == 200 {
				want = 404
			}
			if got := f.do("HEAD", path, "", "Host: "+host); got.status != want {
				t.Errorf("%s of Host %s: %d, want %d", path, host, got.status, want)
			}
		}
	}
	if got := f.do("GET", "/api/health", "", "Host: evil.example:"+port); !strings.Contains(got.body, `{"error":"`) || got.status != 403 {
		t.Errorf("%+v", got)
	}
}

// TestOrigin checks that pages of other origins can load the page itself and nothing else.
func TestOrigin(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	port := f.guard.Port()
	for origin, own := range map[string]bool{
		"http://127.0.0.1:" + port: true, "http://localhost:" + port: true, "http://[::1]:" + port: true,
		"http://127.0.0.1": false, "https://127.0.0.1:" + port: false, "http://localhost:1": false, "null": false, "": false,
		"http://evil.example": false, "http://evil.example:" + port: false, "tauri://localhost": false, "http://127.0.0.1:" + port + ".evil.example": false,
		"http://127.0.0.1:" + port + "@evil.example": false, "http://127.0.0.1:" + port + "/": false, "file://": false,
	} {
		header := "Origin: " + origin
		for _, c := range []struct {
			method, path, body string
			own                int
		}{
			{"GET", "/api/health", "", 200},
			{"HEAD", "/api/events", "", 200},
			{"POST", "/api/comments", `{}`, 400},
			{"POST", "/api/ui/resolve", `{}`, 400},
			{"POST", "/api/call", `{"method":"task.list","params":{"project_id":"proj_a"}}`, 200},
			{"POST", "/", ``, 405},
			{"OPTIONS", "/api/call", "", 405},
		} {
			want := 403
			if own {
				want = c.own
			}
			got := f.do(c.method, c.path, c.body, header, isJSON)
			if got.status != want {
				t.Errorf("%s %s from %q: %d, want %d", c.method, c.path, origin, got.status, want)
			}
			for name := range got.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s from %q: has %s", c.method, c.path, origin, name)
				}
			}
		}
		if got := f.get("/", header); got.status != 200 {
			t.Errorf("the page from %q: %d", origin, got.status)
		}
	}
	own := "Origin: http://127.0.0.1:" + port
	if got := f.get("/api/health", own, "Origin: http://evil.example"); got.status != 403 {
		t.Errorf("two origins: %d", got.status)
	}
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200, "": 200} {
		if got := f.get("/api/usage/analytics", "Sec-Fetch-Site: "+site); got.status != want {
			t.Errorf("Sec-Fetch-Site %q: %d, want %d", site, got.status, want)
		}
	}
}

// TestContentType checks that the server accepts only JSON, so that no form of another site can
// make a request (CSRF).
func TestContentType(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	body := `{"body":"x","target_agent_id":"a"}`
	for kind, want := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON": 200,
		"text/plain": 415, "application/x-www-form-urlencoded": 415, "multipart/form-data; boundary=x": 415, "": 415,
		"application/jsonp": 415, "text/plain; application/json": 415, "application/json, text/plain": 415, ";": 415,
	} {
		for _, path := range []string{"/api/comments", "/api/ui/resolve", "/api/call"} {
			got := f.do("POST", path, body, "Content-Type: "+kind)
			if want == 415 && got.status != 415 || want == 200 && got.status == 415 {
				t.Errorf("%s as %q: %d", path, kind, got.status)
			}
		}
	}
}

// TestRemote checks that listening on an address that others can reach requires --allow-remote, and
// that every path then requires the token.
func TestRemote(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"0.0.0.0", "::", "[::]", "192.0.2.1"} {
		o := options(newWorkspace(t))
		o.Host = host
		if _, err := Listen(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--allow-remote") {
			t.Errorf("%s: %v", host, err)
		}
	}
	f := newServer(t, func(o *Options) { o.Host, o.AllowRemote = "0.0.0.0", true })
	f.url = "http://127.0.0.1:" + f.guard.Port()
	token := f.guard.Token()
	if len(token) < 32 || !strings.HasSuffix(f.URL(), "/?token="+token) || !strings.HasPrefix(f.URL(), "http://0.0.0.0:") {
		t.Errorf("URL %q", f.URL())
	}
	for _, path := range []string{"/", "/favicon.svg", "/api/health", "/api/events", "/nothing"} {
		want := 200
		if path == "/nothing" {
			want = 404
		}
		for _, c := range []struct {
			query, header string
			want          int
		}{
			{"", "", 401}, {"?token=", "", 401}, {"?token=" + token[1:], "", 401}, {"", "Authorization: Bearer x", 401}, {"", "Authorization: Basic " + token, 401},
			{"?token=" + token, "", want}, {"", "Authorization: Bearer " + token, want}, {"", "Authorization: bearer  " + token, want},
		} {
			got := f.do("HEAD", path+c.query, "", "X: y", orX(c.header))
			if got.status != c.want {
				t.Errorf("%s%s %s: %d, want %d", path, c.query, c.header, got.status, c.want)
			}
		}
	}
	if got := f.get("/?token=" + token); !strings.Contains(got.body, `"token":"`+token+`"`) || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%+v", got)
	}
	if got := f.get("/?token="+token, "Host: evil.example:"+f.guard.Port()); got.status != 403 {
		t.Errorf("a foreign Host with the token: %d", got.status)
	}
}

func orX(header string) string {
	if header == "" {
		return "X: y"
	}
	return header
}

// TestIPv6 checks that the server listens on an IPv6 address and puts it in brackets in its URL.
func TestIPv6(t *testing.T) {
	t.Parallel()
	o := options(newWorkspace(t))
	o.Host = "::1"
	s, err := Listen(t.Context(), o)
	if err != nil && strings.Contains(err.Error(), "assign") {
		t.Skip("SKIPPED: this machine has no IPv6: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := "http://[::1]:" + s.guard.Port(); s.URL() != want {
		t.Errorf("URL %q, want %q", s.URL(), want)
	}
	if err := s.listener.Close(); err != nil {
		t.Error(err)
	}
	if err := s.release(); err != nil {
		t.Error(err)
	}
	s.cancelWork()
	f := newServer(t, func(o *Options) { o.Host = "[::1]" })
	if got := f.get("/api/health"); got.status != 200 {
		t.Errorf("%+v", got)
	}
}

// TestAnotherUserOfThisMachine checks that a connection of another user may read but not write. An
// httptest request has no connection whose user the server could determine.
func TestAnotherUserOfThisMachine(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/api/health", "", 200}, {"GET", "/api/ui/snapshot", "", 200},
		{"POST", "/api/call", `{"method":"workspace.agents.list","params":{}}`, 200},
		{"POST", "/api/call", `{"method":"comment.add","params":{"body":"x","target_run_id":"run_1","author_id":"human","author_role":"human"}}`, 403},
		{"POST", "/api/comments", `{"body":"x","target_run_id":"run_1"}`, 403},
		{"POST", "/api/ui/resolve", `{"artifact_id":"art_1","decision":"approved"}`, 403},
	} {
		r := httptest.NewRequest(c.method, f.url+c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		f.ServeHTTP(answer, r)
		if answer.Code != c.status || c.status == 403 && !strings.Contains(answer.Body.String(), "the user who started it only") {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, answer.Code, answer.Body)
		}
	}
	if got := f.get("/api/comments?target_run_id=run_1"); !strings.Contains(got.body, `{"comments":[]}`) {
		t.Errorf("something was written: %s", got.body)
	}
}
