package comma

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"ac/company"
	"ac/company/equipment"
	"ac/company/orchestration"
	"ac/dialect"
	"ac/dialect/dialecttest"
)

// TestCycle checks a cycle as the outermost flow: each round reports its steps again, and the
// observer's call is not reported as a step.
func TestCycle(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	c.prepare("c", s.strategy("c.json", flowOf(object{"printer": object{}, "speaker": object{}}, object{
		"name": "Loop", "type": "cycle", "cycles": 3, "observer": "speaker", "breakCycleSignals": []string{"[[x]]"}, "steps": []object{{"agent": "printer"}},
	})), nil)
	c.send("start_run", object{"runId": "c", "input": "x"})
	list := c.until("c", "strategy_completed")
	call := func(name string) []string {
		return []string{name + ":step-start", name + ":text", "agent_output", name + ":done"}
	}
	var want []string
	for _, part := range [][]string{
		{"strategy_started", "step_started printer"}, call("printer"), {"step_completed printer"}, call("speaker"),
		{"step_started printer"}, call("printer"), {"step_completed printer"},
	} {
		want = append(want, part...)
	}
	if got := words(list); !cmp.Equal(got[:len(want)], want) || strings.Contains(strings.Join(got, ","), "step_started speaker") {
		t.Error(cmp.Diff(want, got))
	}
}

// TestTooMany checks how many runs one listener may have, and that a finished run frees its slot.
func TestTooMany(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	path := s.strategy("user.json", flowOf(object{"user": object{"type": "user"}}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "user"}}}))
	for i := range maxLive {
		run := fmt.Sprint("u", i)
		c.prepare(run, path, nil)
		c.send("start_run", object{"runId": run})
		c.Await("it asks", func(m message) bool { return m.is("request_input", run) })
	}
	c.prepare("more", path, nil)
	if code, text := c.refused("start_run", object{"runId": "more"}); code+" "+text != "START_FAILED Too many runs" {
		t.Errorf("%s %s", code, text)
	}
	if _, body := s.get("/health", http.Header{}); !strings.Contains(body, `"activeRuns":33`) {
		t.Error(body)
	}
	c.send("user_input", object{"runId": "u0", "agentName": "user", "text": ""})
	m := c.Await("the end", func(m message) bool { return m.is("strategy_completed", "u0") })
	if m.field("result") != "" {
		t.Error(m.raw)
	}
	c.send("start_run", object{"runId": "more", "input": "given"})
	c.Await("the end", func(m message) bool { return m.is("strategy_completed", "more") })
	big := strings.Repeat("x", maxSaid+1)
	c.prepare("big", path, nil)
	if code, text := c.refused("start_run", object{"runId": "big", "input": big}); code+" "+text != "START_FAILED Input is larger than 256 KiB" {
		t.Errorf("%s %s", code, text)
	}
}

// TestSlow checks that a client that does not read delays nothing, and misses nothing once it
// reads again.
func TestSlow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	path := s.strategy("b.json", flowOf(object{"printer": object{}}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "printer"}, {"agent": "printer"}, {"agent": "printer"}}}))
	c.prepare("b", path, nil)
	slow, _, err := upgrade(t, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slow.CloseNow() })
	slow.SetReadLimit(-1)
	read := func() (m message) {
		_, text, err := slow.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, text := range []string{`{"type":"subscribe","runId":"b"}`, `{"type":"ping"}`} {
		if err := slow.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if m := read(); m.Type != "pong" {
		t.Error(m.Type)
	}
	c.send("start_run", object{"runId": "b", "input": strings.Repeat("long ", 20_000)})
	want := words(c.until("b", "strategy_completed"))
	var got []message
	for len(got) == 0 || got[len(got)-1].Type != "strategy_completed" {
		got = append(got, read())
	}
	if diff := cmp.Diff(want, words(got)); diff != "" {
		t.Error(diff)
	}
}

// TestMemory checks how long prepared runs are kept, and who may prepare or take them.
func TestMemory(t *testing.T) {
	t.Parallel()
	m := newMemory()
	at := time.Unix(1000, 0)
	owner := &connection{}
	first := &prepared{run: "a", at: at, owner: owner}
	if err := m.keep(first); err != nil {
		t.Fatal(err)
	}
	if err := m.keep(&prepared{run: "a", at: at}); err == nil {
		t.Error("it is prepared twice")
	}
	if !m.say("a", "one") || m.say("b", "x") {
		t.Error("what was said is kept for what there is")
	}
	m.gone(owner, at)
	second := &prepared{run: "a", at: at.Add(time.Minute), owner: &connection{}}
	if err := m.keep(second); err != nil || len(second.said) != 1 || m.find("a") != second {
		t.Errorf("its client has gone: %v", err)
	}
	if m.take("a") != second || m.take("a") != nil {
		t.Error("it is taken twice")
	}
	m.putBack(second)
	m.gone(second.owner, at)
	if err := m.keep(&prepared{run: "z", at: at.Add(preparedHold + time.Second), owner: owner}); err != nil || m.find("a") != nil {
		t.Error("it is held for ever")
	}
	for i := range maxPrepared - 1 {
		if err := m.keep(&prepared{run: fmt.Sprint(i), at: at}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.keep(&prepared{run: "one more", at: at}); err == nil {
		t.Error("there is no bound")
	}
}

// TestServers checks the workspace's MCP servers: listed, named by a strategy, and switched off.
func TestServers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	command, transport := "/bin/true", "stdio"
	p := equipment.PutMCPServerParams{Dir: company.Dir{WorkspaceDir: s.Dir}}
	p.ActorID, p.ActorRole, p.ID, p.Command, p.Transport = "human", "human", "files", &command, &transport
	dialecttest.Must(dialect.Do(t.Context(), s.Company, equipment.Operations.PutMCPServer, p))
	whole := flowOf(object{"speaker": object{"mcpServers": []string{"files", "own"}}}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "speaker"}}})
	whole["mcpServers"] = object{"own": object{"url": "http://x"}, "files": object{"command": "y"}}
	path := s.strategy("m.json", whole)
	want := `[{"id":"files","source":"global","transport":"stdio","enabled":true,"enabledByDefault":true,"toolCount":0,"assignedAgents":["speaker"]},` +
		`{"id":"own","source":"strategy","transport":"http","enabled":false,"enabledByDefault":false,"toolCount":0,"assignedAgents":["speaker"],"error":"not started by this server"}]`
	if m := c.prepare("m", path, nil); !strings.Contains(m.raw, `"mcpServers":`+want) {
		t.Error(m.raw)
	}
	for _, members := range []object{{"runId": "m"}, {"strategyPath": filepath.Base(path), "cwd": filepath.Dir(path)}} {
		if m := c.ask("list_mcp_servers", members); !strings.Contains(m.raw, `"servers":`+want) {
			t.Error(m.raw)
		}
	}
	if m := c.ask("list_mcp_servers", nil); strings.Contains(m.raw, "own") || !strings.Contains(m.raw, `"assignedAgents":[]`) {
		t.Error(m.raw)
	}
	if m := c.ask("update_mcp_server", object{"serverId": "files", "enabled": false, "scope": "default"}); !strings.Contains(m.raw, `"enabled":false,"enabledByDefault":false`) {
		t.Error(m.raw)
	}
	c.send("start_run", object{"runId": "m", "input": "hi"})
	c.Await("the end", func(m message) bool { return m.is("strategy_completed", "m") })
	page := dialecttest.Must(dialect.Do(t.Context(), s.Company, orchestration.Operations.ReplayEvents, orchestration.ReplayEventsParams{
		Dir: company.Dir{WorkspaceDir: s.Dir}, ProjectID: s.Project, RunID: "m", Limit: 100, EventTypes: []string{"workflow.notice"},
	}))
	if len(page.Events) != 2 || !strings.Contains(string(page.Events[1].Event), "MCP server own of the strategy is not started") {
		t.Errorf("%+v", page.Events)
	}
}
