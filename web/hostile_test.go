package web

// Requests that no client should send: the server refuses or bounds each, and goes on.

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestBodies checks the size limit of request bodies, with a Content-Length and chunked.
func TestBodies(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	large := `{"body":"` + strings.Repeat("x", 1<<20) + `","target_run_id":"r"}`
	for _, path := range []string{"/api/comments", "/api/ui/resolve", "/api/call"} {
		if got := f.post(path, large); got.status != 413 {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	head := "POST /api/comments HTTP/1.1\r\nHost: " + f.hostport() + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	if got := f.raw(t, head+fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(large), large)); !strings.HasPrefix(got, "HTTP/1.1 413 ") {
		t.Errorf("chunked: %.200s", got)
	}
	exact := `{"body":"x","target_run_id":"r","pad":"`
	exact += strings.Repeat("p", maxBody-len(exact)-2) + `"}`
	if got := f.post("/api/comments", exact); got.status != 200 {
		t.Errorf("a body of %d: %+v", len(exact), got)
	}
}

// TestRequestLines sends malformed and unusual request lines. The server refuses each, or answers
// as the table says, and goes on.
func TestRequestLines(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	host := "\r\nHost: " + f.hostport() + "\r\nConnection: close\r\n\r\n"
	for line, want := range map[string]string{
		"GET // HTTP/1.1": "404", "GET //api/health HTTP/1.1": "404", "GET /api//health HTTP/1.1": "404", "GET /./api/health HTTP/1.1": "404",
		"GET /api/../api/health HTTP/1.1": "404", "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1": "404", "GET /..%2f..%2fetc/passwd HTTP/1.1": "404", "GET /../company/company.yaml HTTP/1.1": "404",
		"GET /%zz HTTP/1.1": "400", "GET /% HTTP/1.1": "400", "GET /a%00b HTTP/1.1": "404", "GET api/health HTTP/1.1": "400", "GET  HTTP/1.1": "400", "GET": "400", "": "400",
		"GET http://" + f.hostport() + "/api/health HTTP/1.1": "200", "GET http://evil.example/api/health HTTP/1.1": "403", "GET http://evil.example:" + f.guard.Port() + "/ HTTP/1.1": "403",
		"GET file:///etc/passwd HTTP/1.1": "404", "GET mailto:x HTTP/1.1": "4", "OPTIONS * HTTP/1.1": "404", "GET * HTTP/1.1": "404", "CONNECT evil.example:80 HTTP/1.1": "403",
		"CONNECT " + f.hostport() + " HTTP/1.1": "404", "GET /api/health HTTP/9.9": "505", "GET /api/health": "400", "G@T / HTTP/1.1": "400", "\x16\x03\x01\x02": "400",
		"GET /api/health HTTP/1.0": "200", "HEAD /api/health HTTP/1.0": "200", "PRI * HTTP/2.0": "", "GET /api/health#x HTTP/1.1": "404", "GET /\u202e HTTP/1.1": "404",
	} {
		got := f.raw(t, line+host)
		_, status, _ := strings.Cut(got, " ")
		if !strings.HasPrefix(status, want) || want == "" && strings.HasPrefix(status, "2") {
			t.Errorf("%q: %.120q, want %s", line, got, want)
		}
	}
	for text, want := range map[string]string{
		"GET / HTTP/1.0\r\n\r\n": "403", "GET / HTTP/1.1\r\n\r\n": "400",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                                                            "400",
		"GET / HTTP/1.1\r\nHost: " + f.hostport() + "\r\n x\r\n\r\n":                                              "400",
		"GET / HTTP/1.1\r\nHost: " + f.hostport() + "\r\nX: " + strings.Repeat("x", 200<<10) + "\r\n\r\n":         "431",
		"POST /api/call HTTP/1.1\r\nHost: " + f.hostport() + "\r\nContent-Length: -1\r\n\r\n":                     "400",
		"POST /api/call HTTP/1.1\r\nHost: " + f.hostport() + "\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n": "400",
	} {
		got := f.raw(t, text)
		if _, status, _ := strings.Cut(got, " "); !strings.HasPrefix(status, want) {
			t.Errorf("%.80q: %.120q, want %s", text, got, want)
		}
	}
	if got := f.get("/api/health"); got.status != 200 {
		t.Errorf("the server is gone: %+v", got)
	}
}

// TestSlowHead checks that the server disconnects clients that don't complete their request head in
// time, and serves others meanwhile.
func TestSlowHead(t *testing.T) {
	t.Parallel()
	s, err := Listen(t.Context(), options(newWorkspace(t)))
	if err != nil {
		t.Fatal(err)
	}
	s.head = 300 * time.Millisecond
	f := start(t, s)
	var slow sync.WaitGroup
	for _, text := range []string{"", "GET", "GET / HTTP/1.1\r\nHost: x\r\nX: "} {
		slow.Go(func() {
			if got := f.raw(t, text); strings.HasPrefix(got, "HTTP/1.1 2") {
				t.Errorf("%q: %q", text, got)
			}
		})
	}
	if got := f.get("/api/health"); got.status != 200 {
		t.Errorf("%+v", got)
	}
	slow.Wait()
}

// TestPanic checks that a panic in one request becomes a 500 without details, and the server goes
// on.
func TestPanic(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.paths["/panic"] = methods{get: func(http.ResponseWriter, *http.Request) error { panic("a secret") }}
	if got := f.get("/panic"); got.status != 500 || strings.Contains(got.body, "secret") {
		t.Errorf("%+v", got)
	}
	if got := f.get("/api/health"); got.status != 200 {
		t.Errorf("%+v", got)
	}
}

// TestNothingLeaks checks that no path exposes files of the workspace or the machine (path
// traversal).
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	secret := "a secret of this workspace"
	write(t, f.dir, ".local/machine.yaml", secret)
	if err := os.WriteFile(filepath.Join(f.dir, "index.html"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/.local/machine.yaml", "/index.html", "/page/index.html", "/" + f.dir, "/..;/x", "/%2e%2e%2f", "/api/comments/../../.local/machine.yaml"} {
		if got := f.get(path); got.status != http.StatusNotFound || strings.Contains(got.body, secret) {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// FuzzRequest sends request targets and hosts. None may cause a server error, and a foreign host
// must get only refusals.
func FuzzRequest(f *testing.F) {
	for _, target := range []string{"/", "//", "/api/health", "/%2e%2e", "/%zz", "http://x/", "*", "/api/comments?limit=%", "/api/stream?run_id=a&since_seq=x", "/?token=%"} {
		f.Add(target, "127.0.0.1", "http://127.0.0.1")
	}
	f.Add("/", "[::1", "null")
	server := newServer(f)
	f.Fuzz(func(t *testing.T, target, host, origin string) {
		line := func(s string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(s) }
		got := server.raw(t, "HEAD "+line(target)+" HTTP/1.1\r\nHost: "+line(host)+"\r\nOrigin: "+line(origin)+"\r\nConnection: close\r\n\r\n")
		_, status, _ := strings.Cut(got, " ")
		if len(status) < 3 || strings.HasPrefix(status, "5") && !strings.HasPrefix(status, "505") {
			t.Errorf("%q of %q: %.200q", target, host, got)
		}
		if strings.HasPrefix(target, "/") && strings.HasPrefix(status, "2") && server.guard.CheckHost(&http.Request{Host: strings.TrimSpace(line(host)), URL: &url.URL{}}) != nil {
			t.Errorf("%q of %q: %.200q", target, host, got)
		}
	})
}
