package comma

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/dialect/dialecttest"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
)

// get requests a path with some headers.
func (s *stage) get(path string, header http.Header) (status int, body string) {
	s.T.Helper()
	url := "http" + strings.TrimSuffix(strings.TrimPrefix(s.url, "ws"), "/ws") + path
	r := dialecttest.Must(http.NewRequestWithContext(s.T.Context(), http.MethodGet, url, nil))
	r.Header = header
	if host := header.Get("Host"); host != "" {
		r.Host = host
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		s.T.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // already read
	text := dialecttest.Must(io.ReadAll(answer.Body))
	return answer.StatusCode, string(text)
}

// TestHandshake checks the listener's paths, and which requests it refuses.
func TestHandshake(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) { o.Origins = []string{"https://page.example"} })
	for path, want := range map[string]string{
		"/ws": "400 WebSocket upgrade failed\n", "/": "404 Not Found\n", "/other": "404 Not Found\n",
	} {
		if status, body := s.get(path, http.Header{}); fmt.Sprintf("%d %s", status, body) != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for name, header := range map[string]http.Header{
		"host": {"Host": {"evil.example"}}, "origin": {"Origin": {"https://evil.example"}}, "null": {"Origin": {"null"}}, "site": {"Sec-Fetch-Site": {"cross-site"}},
	} {
		for _, path := range []string{"/ws", "/health"} {
			if status, _ := s.get(path, header); status != http.StatusForbidden {
				t.Errorf("%s of %s: %d", path, name, status)
			}
		}
	}
	if status, _ := s.get("/health", http.Header{"Origin": {"https://page.example"}}); status != http.StatusOK {
		t.Errorf("an accepted page: %d", status)
	}
	conn, answer, err := upgrade(t, s.url, &websocket.DialOptions{Subprotocols: []string{"comma"}})
	if err != nil || conn.Subprotocol() != "" || answer.header.Get("Sec-WebSocket-Protocol") != "" {
		t.Errorf("%v %v", err, answer.header)
	}
	var h map[string]any
	_, body := s.get("/health", http.Header{})
	if err := json.Unmarshal([]byte(body), &h); err != nil || h["status"] != "ok" || h["connectedClients"] != 1.0 || h["activeRuns"] != 0.0 || len(h) != 4 {
		t.Errorf("%s %v", body, err)
	}
	if up, ok := h["uptime"].(float64); !ok || up < 0 || up != float64(int(up)) {
		t.Errorf("%s", body)
	}
	_ = conn.CloseNow()
}

// TestToken checks that a listener with a token refuses requests without it.
func TestToken(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) { o.Token = "secret-token" })
	for _, path := range []string{"/ws", "/health", "/health?token=other"} {
		if status, _ := s.get(path, http.Header{}); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := s.get("/health?token=secret-token", http.Header{}); status != http.StatusOK {
		t.Error(status)
	}
	if status, _ := s.get("/health", http.Header{"Authorization": {"Bearer secret-token"}}); status != http.StatusOK {
		t.Error(status)
	}
	c := dial(t, s.url+"?token=secret-token")
	if m := c.ask("ping", nil); m.Type != "pong" {
		t.Error(m.raw)
	}
}

// TestFrames checks clients' frames: binary and fragmented ones are accepted, a malformed one
// keeps the connection open, and an oversized one closes it. It also checks the close frame at
// shutdown.
func TestFrames(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	if err := c.Conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping","requestId":""}`)); err != nil {
		t.Fatal(err)
	}
	if m := c.Next("pong"); m.Type != "pong" || m.RequestID == nil || *m.RequestID != "" {
		t.Error(m.raw)
	}
	w := dialecttest.Must(c.Conn.Writer(t.Context(), websocket.MessageText))
	for _, part := range []string{`{"type":`, `"ping"`, `}`} {
		dialecttest.Must(io.WriteString(w, part))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if m := c.Next("pong"); m.Type != "pong" || m.RequestID != nil {
		t.Error(m.raw)
	}
	c.Send("not json")
	if m := c.Next("a fault"); m.Code != "PARSE_ERROR" || m.RequestID != nil {
		t.Error(m.raw)
	}
	c.Send(`{"type":"subscribe","requestId":"r"}`)
	if m := c.Next("a fault"); m.Code != "VALIDATION_ERROR" || *m.RequestID != "r" {
		t.Error(m.raw)
	}
	big := s.dial()
	big.Send(strings.Repeat(" ", maxMessage+1))
	if _, ok := <-big.In; ok {
		t.Error("a message that is too large is answered")
	}
	var closed websocket.CloseError
	conn, _, err := upgrade(t, s.url, nil)
	if err == nil { // before the first answer the server may still treat the connection as HTTP, and cut it
		err = conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping"}`))
	}
	if err == nil {
		_, _, err = conn.Read(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, _, err := conn.Read(context.Background())
		read <- err
	}()
	s.End()
	if err := <-read; !errors.As(err, &closed) || closed.Code != websocket.StatusGoingAway || closed.Reason != "Server shutting down" {
		t.Error(err)
	}
}

// TestCrowd checks that a connection above the limit is refused, and that closed connections free
// their slots.
func TestCrowd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var open []*websocket.Conn
	for range maxConnections {
		conn, _, err := upgrade(t, s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	if _, answer, err := upgrade(t, s.url, nil); err == nil || answer.status != http.StatusServiceUnavailable {
		t.Errorf("one too many: %v", err)
	}
	for _, conn := range open {
		_ = conn.CloseNow()
	}
	dialecttest.Until(t, "there is room", func() bool { return s.server.connections.Count() == 0 })
	s.dial().ask("ping", nil)
}

// TestLists checks the lists of runs, and the faults of prepare_run.
func TestLists(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	if m := c.ask("list_strategies", nil); !strings.Contains(m.raw, `"runs":[]`) {
		t.Error(m.raw)
	}
	c.prepare("p", s.one(), object{"cwd": s.Repo})
	if m := c.ask("list_strategies", nil); !strings.Contains(m.raw, `"runId":"p","strategyName":"One","status":"pending"`) || strings.Contains(m.raw, "completedAt") {
		t.Error(m.raw)
	}
	if m := c.ask("list_runs", nil); !strings.Contains(m.raw, `"runs":[]`) {
		t.Error(m.raw)
	}
	c.send("start_run", object{"runId": "p", "input": "hi"})
	c.Await("the end", func(m message) bool { return m.is("strategy_completed", "p") })
	dialecttest.Write(t, filepath.Join(s.Dir, "org/workflows/docs/one.yaml"), "schema_version: 1\ntype: workflow\nid: docs:one\nname: Doc\nflow: {kind: task, id: w, agent: {name: Printer}, goal: say}\n")
	m := c.prepare("q", "workflow:docs:one", nil)
	if diff := cmp.Diff(plain(t, object{"name": "w", "type": "sequential", "steps": []object{{"agent": "w"}}}), m.field("flowTree")); diff != "" {
		t.Error(diff)
	}
	c.send("start_run", object{"runId": "q"})
	list := c.until("q", "strategy_completed")
	if got := words(list); got[1] != "step_started w" || got[len(got)-2] != "step_completed w" {
		t.Error(got)
	}
	var rows struct{ Runs []runRow }
	if err := json.Unmarshal([]byte(c.ask("list_runs", object{"cwd": s.Repo + "/."}).raw), &rows); err != nil || len(rows.Runs) != 1 {
		t.Fatalf("%+v %v", rows, err)
	}
	if r := rows.Runs[0]; r.RunID != "p" || r.Cwd != s.Repo || r.Status != "completed" || r.CompletedAt == nil || r.StrategyPath != filepath.Join(s.Dir, "strategies/one.json") {
		t.Errorf("%+v", r)
	}
	if m := c.ask("list_runs", object{}); !strings.Contains(m.raw, `"strategyPath":"workflow:docs:one"`) {
		t.Error(m.raw)
	}
	for want, members := range map[string]object{
		"Run not found: none":                           {"runId": "none"},
		"Strategy file not found: workflow:a:none":      {"strategyPath": "workflow:a:none"},
		"Strategy file not found: " + s.Dir + "/x.json": {"strategyPath": "x.json"},
		"Strategy path is outside the folders this server reads: /etc/x.json; start it with --strategies": {"strategyPath": "/etc/x.json"},
		"cwd /tmp is not inside a repository linked to this project":                                      {"strategyPath": s.one(), "cwd": "/tmp"},
	} {
		if code, text := c.refused("prepare_run", members); code != "PREPARE_FAILED" || text != want {
			t.Errorf("%s %s, want %s", code, text, want)
		}
	}
}

// TestOthers checks providers, models, MCP servers, and the answers for features that ac lacks.
func TestOthers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	var providers struct{ Providers []providerRow }
	if err := json.Unmarshal([]byte(c.ask("list_providers", object{"live": true}).raw), &providers); err != nil {
		t.Fatal(err)
	}
	ids := map[string]providerRow{}
	for i, row := range providers.Providers {
		if ids[row.ID] = row; i > 0 && providers.Providers[i-1].ID >= row.ID {
			t.Errorf("not by id: %+v", providers.Providers)
		}
	}
	if own := ids["ac"]; len(own.Models) != 2 || own.ModelsSource != "live" || own.Name != "Agents of this workspace" {
		t.Errorf("%+v", own)
	}
	if ids["acp_own"].AuthStatus != "configured" || ids["codex"].ID == "" {
		t.Errorf("%+v", ids)
	}
	var models struct{ Models []availableModel }
	if err := json.Unmarshal([]byte(c.ask("get_available_models", object{"modelId": s.Agents["Speaker"]}).raw), &models); err != nil || len(models.Models) != 1 {
		t.Fatalf("%+v %v", models, err)
	}
	if m := models.Models[0]; !m.HasCredentials || m.Name != "Speaker" || !cmp.Equal(m.ConfiguredProviders, []string{"ac"}) {
		t.Errorf("%+v", m)
	}
	for kind, members := range map[string]object{
		"register_provider PROVIDER_REGISTERED":     {"providerId": "codex"},
		"unregister_provider PROVIDER_UNREGISTERED": {"providerId": "none"},
		"trash_list TRASH_LIST_RESULT":              {"cwd": "/x"},
		"trash_clear TRASH_CLEAR_RESULT":            nil,
		"hub_list HUB_PACKAGES":                     nil,
	} {
		kind, want, _ := strings.Cut(kind, " ")
		if m := c.ask(kind, members); strings.ToUpper(m.Type) != want {
			t.Error(m.raw)
		}
	}
	for kind, members := range map[string]object{
		`register_provider NOT_FOUND Provider "none" is not known.`:                                                 {"providerId": "none"},
		"set_credential INVALID_MESSAGE Credentials are kept by the agents' own programs; this server stores none.": {"providerId": "codex", "credentialType": "api", "apiKey": "sk-secret"},
		"trash_restore RESTORE_FAILED There is no trash; a run's files can be reverted from its artifacts.":         {"cwd": "/x", "trashPath": "y"},
		"hub_install HUB_ERROR Packages are not fetched by this server.":                                            {"name": "x", "allowCode": false},
		"hub_update HUB_ERROR Packages are not fetched by this server.":                                             {"name": "x"},
		"hub_remove HUB_ERROR Packages are not fetched by this server.":                                             {"name": "x"},
		"update_mcp_server MCP_UPDATE_FAILED Unknown MCP server: x":                                                 {"serverId": "x", "enabled": true, "scope": "default"},
		"update_mcp_server MCP_UPDATE_FAILED MCP servers are switched for all runs.":                                {"serverId": "x", "enabled": true, "scope": "run"},
		"list_mcp_servers MCP_LIST_FAILED Strategy file not found: " + s.Dir + "/none.json":                         {"strategyPath": "none.json"},
	} {
		kind, want, _ := strings.Cut(kind, " ")
		if code, text := c.refused(kind, members); code+" "+text != want {
			t.Errorf("%s: %s %s", kind, code, text)
		}
	}
}

// process starts a listener in its own process, and returns its URL and a function that kills it.
func (s *stage) process() (url string, kill func()) {
	s.T.Helper()
	cmd := exec.Command(dialecttest.Must(os.Executable()), dialecttest.Daemon, s.Dir, s.Project) //nolint:gosec // it is this test
	cmd.Stderr = os.Stderr
	out := dialecttest.Must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}
	}
	s.T.Cleanup(kill)
	line := dialecttest.Must(bufio.NewReader(out).ReadString('\n'))
	return strings.TrimSpace(line), kill
}

// TestKilled checks that runs outlive a killed listener. Another listener knows them, accepts the
// answer to an open request, and reports their end. Prepared runs are lost.
func TestKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := s.one()
	url, kill := s.process()
	c := dial(t, url)
	release := filepath.Join(t.TempDir(), "go")
	c.prepare("live", path, nil)
	c.send("start_run", object{"runId": "live", "input": "hold " + release})
	c.Await("it works", func(m message) bool { return m.RunID == "live" && strings.Contains(string(m.Event), "holding") })
	outside := filepath.Join(s.Dir, "elsewhere.md")
	c.prepare("asking", path, object{"cwd": s.Repo})
	c.send("start_run", object{"runId": "asking", "input": "write " + outside})
	asked := c.Await("it asks", func(m message) bool { return m.is("request_permission", "asking") })
	c.prepare("waiting", path, nil)
	kill()

	url, _ = s.process()
	c = dial(t, url)
	var rows struct{ Runs []runSummary }
	if err := json.Unmarshal([]byte(c.ask("list_strategies", nil).raw), &rows); err != nil || len(rows.Runs) != 2 || rows.Runs[0].RunID != "asking" || rows.Runs[1].Status != "running" {
		t.Errorf("%+v %v", rows, err)
	}
	if code, _ := c.refused("start_run", object{"runId": "waiting"}); code != "START_FAILED" {
		t.Error(code)
	}
	c.send("subscribe", object{"runId": "live"})
	c.send("permission_decision", object{"runId": "asking", "permissionRequestId": asked.field("requestId"), "decision": "allow"})
	if m := c.Await("the end", func(m message) bool { return m.is("strategy_completed", "asking") }); m.RequestID != nil {
		t.Error(m.raw)
	}
	dialecttest.Write(t, release, "")
	if m := c.Await("the end", func(m message) bool { return m.is("strategy_completed", "live") }); m.field("result") != "holding released" {
		t.Error(m.raw)
	}
}

// TestLeft checks what happens when a client disconnects. Its run goes on. Another client can
// prepare its prepared run again, and is subscribed to the running one by its next command.
func TestLeft(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := s.one()
	c := s.dial()
	release := filepath.Join(t.TempDir(), "go")
	c.prepare("r", path, nil)
	if code, text := c.refused("prepare_run", object{"runId": "r", "strategyPath": path}); code+" "+text != "PREPARE_FAILED Run already exists: r" {
		t.Errorf("%s %s", code, text)
	}
	c.prepare("l", path, nil)
	c.send("start_run", object{"runId": "l", "input": "hold " + release})
	c.Await("it works", func(m message) bool { return strings.Contains(string(m.Event), "holding") })
	_ = c.Conn.CloseNow()
	dialecttest.Until(t, "the client has gone", func() bool { return s.server.connections.Count() == 0 })
	c = s.dial()
	c.prepare("r", path, nil)
	m := c.prepare("l", path, nil) // already running: attaches to it
	if !strings.Contains(m.raw, `"records":[]`) {
		t.Error(m.raw)
	}
	if code, text := c.refused("start_run", object{"runId": "l"}); code+" "+text != "START_FAILED Run already started: l" {
		t.Errorf("%s %s", code, text)
	}
	c.send("steer_run", object{"runId": "l", "text": "again"})
	c.Await("it is queued", func(m message) bool { return m.is("steer_queued", "l") })
	dialecttest.Write(t, release, "")
	c.Await("the end", func(m message) bool { return m.is("strategy_completed", "l") })
}

// TestOnExit checks that a listener with StopRuns stops its runs when it ends.
func TestOnExit(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) { o.StopRuns = true })
	c := s.dial()
	c.prepare("x", s.one(), nil)
	c.send("start_run", object{"runId": "x", "input": "hold " + filepath.Join(t.TempDir(), "never")})
	c.Await("it works", func(m message) bool { return strings.Contains(string(m.Event), "holding") })
	before := time.Now()
	s.End()
	if took := time.Since(before); took > dialecttest.Patience {
		t.Error(took)
	}
	s.open()
	c = s.dial()
	dialecttest.Until(t, "the run is over", func() bool {
		return strings.Contains(c.ask("list_strategies", nil).raw, `"runId":"x","strategyName":"One","status":"cancelled"`)
	})
}
