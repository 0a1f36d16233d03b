package web

// The routes: their options and responses.

import (
	"fmt"
	"strings"
	"testing"

	"ac/company"
)

// TestRoutes checks the responses that the page and the shell rely on.
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

// TestQueries checks the query options of reads.
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

// TestNoSync checks that a server without sync reads the index as it is, unless a request asks for
// a sync.
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

// TestComments checks that comments are written as the server's actor, whoever the body names, and
// which bodies are refused.
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

// TestResolve checks that decisions are made as the server's actor, and which requests are refused.
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

// TestCall checks the methods that the page may call, and the errors for others.
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
