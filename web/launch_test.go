package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestLaunch checks that a control room without --allow-launch starts nothing, by any method, and
// that only the server's own user may act.
func TestLaunch(t *testing.T) {
	t.Parallel()
	closed, open := newServer(t), newServer(t, func(o *Options) { o.AllowLaunch = true })
	starts := []string{
		`{"method":"run.start","params":{"project_id":"proj_a","agent_id":"a","argv":["true"]}}`,
		`{"method":"run.retry","params":{"project_id":"proj_a","run_id":"run_9"}}`,
		`{"method":"workflow.run","params":{"project_id":"proj_a"}}`,
		`{"method":"run.steer","params":{"project_id":"proj_a","run_id":"run_9","text":"x","mode":"after_turn","start":{}}}`,
	}
	const refusal = `{"error":{"code":-32000,"message":"this control room was started without --allow-launch","data":{"reason":"launch_not_allowed"}}}` + "\n"
	for _, body := range starts {
		if got := closed.post("/api/call", body); got.status != 403 || got.body != refusal {
			t.Errorf("%s: %+v", body, got)
		}
		if got := open.post("/api/call", body); strings.Contains(got.body, "launch_not_allowed") {
			t.Errorf("%s is allowed: %+v", body, got)
		}
	}
	if got := closed.post("/api/call", `{"method":"run.steer","params":{"project_id":"proj_a","run_id":"run_9","text":"x"}}`); strings.Contains(got.body, "launch_not_allowed") {
		t.Errorf("a message starts nothing: %+v", got)
	}
	for _, method := range append(actions(), startable()...) {
		r := httptest.NewRequest(http.MethodPost, open.url+"/api/call", strings.NewReader(fmt.Sprintf(`{"method":%q,"params":{}}`, method)))
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		open.ServeHTTP(answer, r)
		if answer.Code != 403 || !strings.Contains(answer.Body.String(), `"reason":"other_user"`) {
			t.Errorf("%s by another user: %d %s", method, answer.Code, answer.Body)
		}
	}
	for _, never := range []string{"session.launch", "job.submit", "terminal.create", "run.create", "run.attach", "policy.defaults.set", "mcp.server.put", "model.profile.put"} {
		if got := open.post("/api/call", fmt.Sprintf(`{"method":%q,"params":{}}`, never)); got.status != 404 {
			t.Errorf("%s: %+v", never, got)
		}
	}
	for f, want := range map[*fixture]string{closed: `"launch":false`, open: `"launch":true`} {
		if got := f.get("/"); !strings.Contains(got.body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// TestTokenCookie checks that the browser keeps the token in a cookie for this server only. The
// cookie alone must not let a page of another site write (CSRF).
func TestTokenCookie(t *testing.T) {
	t.Parallel()
	f := newServer(t, func(o *Options) { o.Token = true })
	token := f.guard.Token()
	if token == "" {
		t.Fatal("there is no token")
	}
	if got := f.get("/api/health"); got.status != 401 {
		t.Errorf("without the token: %d", got.status)
	}
	first := f.get("/?token=" + token)
	cookie := first.header.Get("Set-Cookie")
	if first.status != 200 || !strings.HasPrefix(cookie, "ac_room_"+f.guard.Port()+"="+token) {
		t.Fatalf("%d %q", first.status, cookie)
	}
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("no %s in %q", part, cookie)
		}
	}
	brought := "Cookie: ac_room_" + f.guard.Port() + "=" + token
	const call = `{"method":"task.list","params":{"project_id":"proj_a"}}`
	for _, c := range []struct {
		what    string
		headers []string
		status  int
	}{
		{"the cookie alone", []string{brought}, 401},
		{"with our origin", []string{brought, "Origin: " + f.url}, 200},
		{"with a foreign origin", []string{brought, "Origin: http://evil.example"}, 403},
		{"another cookie", []string{"Cookie: ac_room_1=" + token, "Origin: " + f.url}, 401},
		{"a wrong one", []string{"Cookie: ac_room_" + f.guard.Port() + "=x", "Origin: " + f.url}, 401},
		{"the bearer", []string{"Authorization: Bearer " + token}, 200},
	} {
		if got := f.post("/api/call", call, c.headers...); got.status != c.status {
			t.Errorf("%s: %d, want %d", c.what, got.status, c.status)
		}
	}
	if got := f.get("/api/health", brought); got.status != 200 || got.header.Get("Set-Cookie") != "" {
		t.Errorf("a read: %+v", got)
	}
}

// TestAllProjects checks a server without a project: requests for project data need a project_id.
func TestAllProjects(t *testing.T) {
	t.Parallel()
	f := newServer(t, func(o *Options) { o.ProjectID = "" })
	artifact(t, f.dir, "art_1", "T1")
	for _, path := range []string{"/api/ui/snapshot", "/api/monitor/snapshot", "/api/inbox/snapshot", "/api/usage/analytics", "/api/comments"} {
		if got := f.get(path); got.status != 400 || !strings.Contains(got.body, "project_id") {
			t.Errorf("%s: %+v", path, got)
		}
		if got := f.get(path + "?project_id=proj_a"); got.status != 200 {
			t.Errorf("%s of a project: %d %s", path, got.status, got.body)
		}
		if got := f.get(path + "?project_id=proj_none"); got.status != 404 {
			t.Errorf("%s of no project: %d %s", path, got.status, got.body)
		}
	}
	if got := f.do("HEAD", "/api/events", ""); got.status != 400 {
		t.Errorf("%d", got.status)
	}
	if got := f.post("/api/comments", `{"body":"b","target_run_id":"r"}`); got.status != 400 {
		t.Errorf("%+v", got)
	}
	if got := f.post("/api/comments", `{"body":"b","target_run_id":"r","project_id":"proj_a"}`); got.status != 200 {
		t.Errorf("%+v", got)
	}
	if got := f.post("/api/ui/resolve", `{"artifact_id":"art_1","decision":"denied","project_id":"proj_a"}`); got.status != 200 {
		t.Errorf("%+v", got)
	}
	if got := f.get("/"); got.status != 200 || !strings.Contains(got.body, `"project_id":""`) {
		t.Errorf("%d", got.status)
	}
}

// TestTwoDecide sends opposite decisions on the same items at once. Each item must then be closed
// to further decisions.
func TestTwoDecide(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	for n := range 4 {
		id := fmt.Sprintf("art_%d", n)
		artifact(t, f.dir, id, "T")
		body := fmt.Sprintf(`{"method":"inbox.resolve","params":{"project_id":"proj_a","artifact_id":%q,"decision":%%q}}`, id)
		var both sync.WaitGroup
		statuses := [2]int{}
		for i, decision := range []string{"denied", "approved"} {
			both.Go(func() { statuses[i] = f.post("/api/call", fmt.Sprintf(body, decision)).status })
		}
		both.Wait()
		if (statuses[0] == 200) == (statuses[1] == 200) {
			t.Errorf("the decisions were answered %v", statuses)
		}
		if got := f.post("/api/call", fmt.Sprintf(body, "approved")); got.status == 200 {
			t.Errorf("it was decided again: %+v", got)
		}
	}
}

// TestRowsAnywhere cuts the stream of rows after one to four frames and resumes it. The keys of the
// rows must match those of room.read.
func TestRowsAnywhere(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	const runs = 150
	for n := range runs {
		f.log(fmt.Sprintf("run_%03d", n), 1, 1)
	}
	for cut := 1; cut <= 4; cut++ {
		var store rowStore
		s := f.openRows(t, "", "", cut%2 == 0)
		more := true
		for range cut {
			if !more {
				break
			}
			_, data := s.next()
			_, more = store.apply(t, data)
		}
		id := s.id
		s.end()
		run := fmt.Sprintf("run_new%d", cut)
		f.log(run, 1, 1)
		back := f.openRows(t, "", id, cut%2 == 1)
		for len(store) < runs+cut || store["runs "+run] == nil {
			_, data := back.next()
			store.apply(t, data)
		}
		back.end()
		var read struct {
			Result struct{ Rows []jsonRaw }
		}
		mustJSON(t, f.post("/api/call", `{"method":"room.read","params":{}}`).body, &read)
		text, err := rpcRows(read.Result.Rows)
		if err != nil {
			t.Fatal(err)
		}
		var fresh rowStore
		fresh.apply(t, text)
		for key := range fresh {
			if store[key] == nil {
				t.Errorf("cut %d: %s is missing", cut, key)
			}
		}
		for key := range store {
			if fresh[key] == nil {
				t.Errorf("cut %d: %s is too many", cut, key)
			}
		}
	}
}
