package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/company"
)

// TestRoutes pins the answers of the contract with the page and the shell.
func TestRoutes(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.log("run_1", 1, 3)
	artifact(t, f.dir, "art_1", "T1")
	f.get("/api/ui/snapshot") // builds the index
	for path, want := range map[string][]string{
		"/api/health":           {`"ok":true`, `"project_id":"proj_a"`, `"actor_id":"human"`, `"actor_role":"manager"`, `"now":"20`, `"version":"test"`, `"company":"Acme"`, `"pid":`, `"workspace_dir":`, `"dialects":[]`},
		"/api/ui/snapshot":      {`"workspace_dir"`, `"index_sync_worker":{"enabled":true`, `"monitor":{`, `"review_inbox":{`, `"usage_analytics":{`, `"colleagues":[`, `"comments":[]`, `"run_1"`, `"art_1"`},
		"/api/monitor/snapshot": {`"run_1"`, `"index_synced":true`},
		"/api/inbox/snapshot":   {`"art_1"`, `"pending":[{`},
		"/api/usage/analytics":  {`"run_1"`},
		"/api/comments":         {`{"comments":[]}`},
	} {
		got := f.get(path)
		if got.status != 200 || got.header.Get("Content-Type") != "application/json; charset=utf-8" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
		for _, part := range want {
			if !strings.Contains(got.body, part) {
				t.Errorf("%s has no %s: %.600s", path, part, got.body)
			}
		}
		if head := f.do("HEAD", path, ""); head.status != 200 || head.body != "" || head.header.Get("Content-Type") != got.header.Get("Content-Type") {
			t.Errorf("HEAD %s: %+v", path, head)
		}
	}
	for _, path := range []string{"/nothing", "/api", "/api/", "/api/health/", "/index.html", "/api/healthz", "/API/health"} {
		if got := f.get(path); got.status != 404 || got.body != `{"error":"Not found"}`+"\n" {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for path, allow := range map[string]string{
		"/": "GET, HEAD", "/api/health": "GET, HEAD", "/api/comments": "GET, HEAD, POST", "/api/call": "POST", "/api/ui/resolve": "POST", "/api/events": "GET, HEAD",
	} {
		for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"} {
			if got := f.do(method, path, ""); got.status != 405 || got.header.Get("Allow") != allow {
				t.Errorf("%s %s: %d, Allow %q", method, path, got.status, got.header.Get("Allow"))
			}
		}
	}
}

// TestQueries pins what options of a read mean.
func TestQueries(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.log("run_1", 1, 1)
	f.log("run_2", 1, 1)
	f.get("/api/ui/snapshot") // builds the index
	for query, want := range map[string]string{
		"": `"index_synced":true`, "?sync_index=0": `"index_synced":false`, "?sync_index=No": `"index_synced":false`, "?sync_index=FALSE": `"index_synced":false`,
		"?sync_index=nonsense": `"index_synced":true`, "?sync_index=yes": `"index_synced":true`, "?refresh_index=1": `"index_rebuilt":true`, "?refresh_index=maybe": `"index_rebuilt":false`,
	} {
		if got := f.get("/api/monitor/snapshot" + query); got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("%q: %d, no %s in %.300s", query, got.status, want, got.body)
		}
	}
	for query, rows := range map[string]int{"": 2, "?limit=1": 1, "?limit=0": 2, "?limit=-1": 2, "?limit=x": 2, "?limit=1.5": 2, "?limit=99999999999999999999": 2} {
		if got := f.get("/api/usage/analytics" + query); got.status != 200 || strings.Count(got.body, `"run_id":"run_`) != rows {
			t.Errorf("%q: %d, %s", query, got.status, got.body)
		}
	}
	for _, query := range []string{"?x=%", "?x=%zz", "?a;b"} {
		if got := f.get("/api/monitor/snapshot" + query); got.status != 400 {
			t.Errorf("%q: %d", query, got.status)
		}
	}
	for _, id := range []string{"..", "a%2Fb", "a%00b", strings.Repeat("a", 201), "a%5Cb"} {
		if got := f.get("/api/comments?target_run_id=" + id); got.status != 400 || !strings.Contains(got.body, "target_run_id") {
			t.Errorf("%q: %+v", id, got)
		}
		if got := f.get("/api/stream?run_id=" + id); got.status != 400 {
			t.Errorf("%q: %+v", id, got)
		}
	}
	for _, seq := range []string{"-1", "x", "1.5"} {
		if got := f.get("/api/stream?run_id=run_1&since_seq=" + seq); got.status != 400 || !strings.Contains(got.body, "since_seq") {
			t.Errorf("%q: %+v", seq, got)
		}
	}
}

// TestNoSync pins that a server without sync reads the index as it is, unless a
// request says otherwise.
func TestNoSync(t *testing.T) {
	t.Parallel()
	f := newServer(t, func(o *Options) { o.SyncIndex = false })
	f.get("/api/ui/snapshot?refresh_index=1")
	if got := f.get("/api/monitor/snapshot?sync_index=1"); !strings.Contains(got.body, `"index_synced":true`) {
		t.Errorf("%+v", got)
	}
	if got := f.get("/api/monitor/snapshot"); !strings.Contains(got.body, `"index_synced":false`) {
		t.Errorf("%+v", got)
	}
}

// TestComments pins comments: as the server's actor, whoever the body names.
func TestComments(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	got := f.post("/api/comments", `{"body":"well done","target_run_id":"run_1","visibility":"team","author_id":"ceo","author_role":"ceo","project_id":"other","workspace_dir":"/"}`)
	var made struct {
		Comment struct {
			ID         string `json:"id"`
			AuthorID   string `json:"author_id"`
			AuthorRole string `json:"author_role"`
			Visibility string `json:"visibility"`
		} `json:"comment"`
		Snapshot struct {
			Comments []struct{ ID string } `json:"comments"`
		} `json:"snapshot"`
	}
	mustJSON(t, got.body, &made)
	if c := made.Comment; got.status != 200 || c.AuthorID != "human" || c.AuthorRole != "manager" || c.Visibility != "team" ||
		len(made.Snapshot.Comments) != 1 || made.Snapshot.Comments[0].ID != c.ID {
		t.Errorf("%+v", got)
	}
	f.post("/api/comments", `{"body":"another","target_agent_id":"a"}`)
	for query, want := range map[string]int{"": 2, "?limit=1": 1, "?limit=x": 2, "?target_run_id=run_1": 1, "?target_run_id=run_1&target_agent_id=a": 0} {
		if got := f.get("/api/comments" + query); strings.Count(got.body, `"cmt_`) != want {
			t.Errorf("%q: %s", query, got.body)
		}
	}
	for _, body := range []string{
		``, `x`, `[]`, `null`, `"x"`, `{`, `{} {}`, `{"body":"x"}`, `{"target_run_id":"r"}`, `{"body":" ","target_run_id":"r"}`, `{"body":"x","target_run_id":" "}`,
		`{"body":1,"target_run_id":"r"}`, `{"body":"x","target_run_id":["r"]}`, `{"body":"x","target_run_id":"../x"}`, `{"body":"x","target_run_id":"r","visibility":"all"}`,
		`{"body":"` + strings.Repeat("x", 65537) + `","target_run_id":"r"}`, `{"body":"\ud800`, strings.Repeat("[", 100000),
	} {
		if got := f.post("/api/comments", body); got.status != 400 || !strings.HasPrefix(got.body, `{"error":"`) {
			t.Errorf("%.60q: %d %.200s", body, got.status, got.body)
		}
	}
	if got := f.get("/api/comments"); strings.Count(got.body, `"cmt_`) != 2 {
		t.Errorf("a refused comment was written: %s", got.body)
	}
}

// TestResolve pins decisions: as the server's actor, and what refuses them.
func TestResolve(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	artifact(t, f.dir, "art_1", "T1")
	write(t, f.dir, "work/projects/proj_a/artifacts/art_note.md", "---\nschema_version: 1\ntype: report\nid: art_note\ncreated_at: 2026-01-02T00:00:00.000Z\ntitle: N\nvisibility: org\nproduced_by: human\nrun_id: run_1\ncontext_pack_id: ctx_1\n---\nx\n")
	for body, want := range map[string]int{
		`{}`: 400, `{"decision":"denied"}`: 400, `{"artifact_id":"","decision":"denied"}`: 400, `{"artifact_id":" ","decision":"denied"}`: 400,
		`{"artifact_id":"art_1"}`: 400, `{"artifact_id":"art_1","decision":"maybe"}`: 400, `{"artifact_id":"art_1","decision":true}`: 400,
		`{"artifact_id":"../art_1","decision":"denied"}`: 400, `{"artifact_id":"art_1","decision":"denied","notes":1}`: 400,
		`{"artifact_id":"art_9","decision":"denied"}`: 404, `{"artifact_id":"art_note","decision":"approved"}`: 409,
	} {
		if got := f.post("/api/ui/resolve", body); got.status != want || !strings.HasPrefix(got.body, `{"error":"`) {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	worker := serve(t, f.dir, func(o *Options) { o.Actor = company.ActorParams{ActorID: "w", ActorRole: "worker"} })
	if got := worker.post("/api/ui/resolve", `{"artifact_id":"art_1","decision":"approved","actor_id":"human","actor_role":"human"}`); got.status != 403 && got.status != 409 {
		t.Errorf("a worker decides: %+v", got)
	}
	got := f.post("/api/ui/resolve", `{"artifact_id":"art_1","decision":"denied","notes":"no","actor_id":"ceo","actor_role":"ceo"}`)
	for _, part := range []string{`"resolved":{`, `"decision":"denied"`, `"snapshot":{`, `"actor_id":"human"`} {
		if got.status != 200 || !strings.Contains(got.body, part) {
			t.Errorf("no %s: %+v", part, got)
		}
	}
	if got := f.post("/api/ui/resolve", `{"artifact_id":"art_1","decision":"approved"}`); got.status != 409 {
		t.Errorf("decided otherwise: %d %.300s", got.status, got.body)
	}
}

// TestBodies pins the bound of bodies, however they are sent.
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

// TestPage pins the page: its policy, what it is told, and that nothing it is
// told ends its element.
func TestPage(t *testing.T) {
	t.Parallel()
	hostile := `</script><script>alert(1)</script><!--` + "\u2028"
	f := newServer(t, func(o *Options) { o.Actor.ActorID = hostile })
	got := f.get("/?pane=%3C/script%3E&colleague_id=a%22b")
	if got.status != 200 || got.header.Get("Content-Type") != "text/html; charset=utf-8" || got.header.Get("X-Frame-Options") != "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	policy := got.header.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'none'", "script-src 'self' 'sha256-", "style-src 'self' 'sha256-", "require-trusted-types-for 'script'", "trusted-types ac dompurify", "connect-src 'self'",
		"frame-ancestors 'self' tauri: http://tauri.localhost https://tauri.localhost http://localhost:* http://127.0.0.1:*",
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("no %s in %s", part, policy)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Error(policy)
	}
	_, rest, _ := strings.Cut(got.body, `<script type="application/json" id="boot">`)
	element, _, ended := strings.Cut(rest, "</script>")
	var told struct {
		ProjectID   string               `json:"project_id"`
		ActorID     string               `json:"actor_id"`
		Pane        string               `json:"pane"`
		ColleagueID string               `json:"colleague_id"`
		Limits      company.ScreenLimits `json:"limits"`
		Version     string               `json:"version"`
		First       struct {
			Epoch string    `json:"epoch"`
			Full  bool      `json:"full"`
			Set   []jsonRaw `json:"set"`
		} `json:"first"`
		Vendor []loadable `json:"vendor"`
	}
	mustJSON(t, element, &told)
	if !ended || told.ActorID != hostile || told.Pane != "</script>" || told.ColleagueID != `a"b` || told.ProjectID != project ||
		told.Limits.MonitorLimit != 200 || told.Version != "test" || strings.Contains(got.body, "<!--\u2028") {
		t.Errorf("%+v", told)
	}
	if told.First.Epoch != "" && (!told.First.Full || len(told.First.Set) == 0) || len(told.Vendor) == 0 {
		t.Errorf("the first frame is %+v, of libraries %v", told.First, told.Vendor)
	}
	if strings.Contains(got.body, "<!--boot-->") || strings.Contains(got.body, "alert(1)</script>") {
		t.Error("the page is not filled in")
	}
}

// TestCaching pins tags and compression.
func TestCaching(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	plain := f.settled("/")
	tag := plain.header.Get("Etag")
	for _, known := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
		if got := f.get("/", "If-None-Match: "+known); got.status != 304 || got.body != "" || got.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %+v", known, got)
		}
	}
	if got := f.get("/?pane=runs", "If-None-Match: "+tag); got.status != 200 {
		t.Errorf("another page: %d", got.status)
	}
	for accept, want := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "*": true, "": false, "gzip;q=0": false, "gzip; q=0.0, *": false, "br": false, "gzip;q=x": false} {
		for _, path := range []string{"/", "/api/ui/snapshot"} {
			got := f.get(path, "Accept-Encoding: "+accept)
			if packed := got.header.Get("Content-Encoding") == "gzip"; packed != want || got.header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s with %q: %v", path, accept, got.header)
			}
			if want && path == "/" && timeless(unpack(t, got.body)) != timeless(plain.body) {
				t.Error("the page is another one compressed")
			}
		}
	}
	if got := f.get("/api/events", "Accept-Encoding: gzip", "Origin: null"); got.status != 403 {
		t.Errorf("%d", got.status)
	}
}

// settled is a page that has its first rows, which a server that still reads its workspace
// leaves to the stream, and that is the same when asked again.
func (f *fixture) settled(path string) said {
	f.t.Helper()
	got := f.get(path)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		again := f.get(path)
		if strings.Contains(again.body, `"epoch":`) && again.header.Get("Etag") == got.header.Get("Etag") {
			return again
		}
		got = again
	}
	f.t.Fatal("the page does not settle")
	return said{}
}

// timeless is a page without the moment of its first frame, by which it differs each time.
func timeless(page string) string {
	before, rest, _ := strings.Cut(page, `"rev":`)
	_, after, _ := strings.Cut(rest, `"full":`)
	return before + after
}

func unpack(t *testing.T, text string) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// TestRequestLines sends what no client should: each is refused, and the server
// goes on.
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

// TestSlowHead pins that a client which sends its request drop by drop is cut
// off, and that others are served meanwhile.
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

// TestPanic pins that a fault of one request is one answer.
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

// TestCall pins the methods for the page.
func TestCall(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	artifact(t, f.dir, "art_1", "T1")
	in := `"params":{"workspace_dir":"/etc","project_id":"proj_a"`
	for body, want := range map[string]struct {
		status int
		part   string
	}{
		`{"method":"task.list",` + in + `}}`:               {200, `{"result":{"workspace_dir":`},
		`{"method":"index.sync_worker_status"}`:            {200, `"enabled":true`},
		`{"method":"workspace.agents.list","params":null}`: {200, `{"result":[]}`},
		`{"method":"task.list","params":{}}`:               {400, `{"error":{"code":-32602,"message":"Invalid params","data":[{"path":["project_id"]`},
		`{"method":"task.list","params":[]}`:               {400, `"code":-32602`},
		`{"method":"workspace.export",` + in + `}}`:        {404, `"code":-32601`},
		`{"method":"session.launch",` + in + `}}`:          {404, `"code":-32601`},
		`{"method":"events.subscribe",` + in + `}}`:        {404, `"code":-32601`},
		`{"method":"no.such"}`:                             {404, `{"error":{"code":-32601,"message":"Unknown method: no.such"}}`},
		`{}`:                                               {404, `-32601`},
		`{"method":1}`:                                     {400, `{"error":"`},
		`{"method":"artifact.read","params":{"project_id":"proj_a","artifact_id":"x","actor_id":"a","actor_role":1}}`:        {404, `"reason":"not_found"`},
		`{"method":"inbox.resolve",` + in + `,"artifact_id":"art_1","decision":"denied","actor_id":"x","actor_role":"ceo"}}`: {200, `"decision":"denied"`},
		`{"method":"comment.add",` + in + `,"body":"b","target_run_id":"r","author_id":"x","author_role":"ceo"}}`:            {200, `"author_id":"human","author_role":"manager"`},
	} {
		got := f.post("/api/call", body)
		if got.status != want.status || !strings.Contains(got.body, want.part) {
			t.Errorf("%s: %d %s, want %v", body, got.status, got.body, want)
		}
	}
	if got := f.post("/api/call", `{"method":"task.list","params":{"project_id":"proj_a"}}`); !strings.Contains(got.body, fmt.Sprintf("%q", f.dir)) {
		t.Errorf("another workspace: %s", got.body)
	}
	if got := f.post("/api/call", `{"method":"comment.list",`+in+`}}`); !strings.Contains(got.body, `"body":"b"`) {
		t.Errorf("%s", got.body)
	}
}

// TestNothingLeaks looks for files of the workspace and of the machine behind
// paths.
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

// FuzzRequest sends request targets and hosts: none makes the server panic, and
// no foreign host gets more than a refusal.
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
