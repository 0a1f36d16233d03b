package comma

// Tests of runs as clients see them: which messages come, and in which order.

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/dialect/dialecttest"

	"github.com/google/go-cmp/cmp"
)

// words summarizes the messages of a run: their types, and the types of streamed events.
func words(list []message) (said []string) {
	for _, m := range list {
		word := m.Type
		if m.Event != nil {
			var e struct{ Type string }
			_ = json.Unmarshal(m.Event, &e)
			word = m.AgentName + ":" + e.Type
		}
		if m.StepName != "" {
			word += " " + m.StepName
		}
		if n := len(said); n > 0 && said[n-1] == word && strings.HasSuffix(word, ":text") {
			continue // chunks of the same text
		}
		said = append(said, word)
	}
	return said
}

func wantWords(t *testing.T, list []message, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, words(list)); diff != "" {
		t.Error(diff)
	}
}

// field returns a member of a message by its path.
func (m message) field(path ...string) any {
	var v any
	_ = json.Unmarshal([]byte(m.raw), &v)
	for _, name := range path {
		members, _ := v.(map[string]any)
		v = members[name]
	}
	return v
}

// TestRun checks the messages of a run of one call, as recorded. The answer to its preparation is
// delayed, and its agent remembers when the run is continued.
func TestRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	before := time.Now()
	m := c.prepare("flow-a", s.one(), nil)
	if took := time.Since(before); took < prepareDelay {
		t.Errorf("run_prepared came after %v", took)
	}
	want := object{"name": "F", "type": "sequential", "steps": []object{{"agent": "speaker"}}}
	if diff := cmp.Diff(plain(t, want), m.field("flowTree")); diff != "" || m.field("strategyName") != "One" {
		t.Error(diff, m.raw)
	}
	c.send("start_run", object{"runId": "flow-a", "input": "hi"})
	list := c.until("flow-a", "strategy_completed")
	wantWords(t, list, "strategy_started", "step_started speaker", "speaker:step-start", "speaker:text", "agent_output", "speaker:done", "step_completed speaker", "strategy_completed")
	for i, m := range list {
		if lifecycle := strings.HasPrefix(m.Type, "strategy_"); (m.RequestID != nil) != lifecycle {
			t.Errorf("%d: %s", i, m.raw)
		}
	}
	if list[1].field("message") != "hi" || list[len(list)-1].field("result") != "you said: hi" || list[2].field("model") != "acp_own/default" {
		t.Errorf("%s %s", list[1].raw, list[len(list)-1].raw)
	}
	for kind, want := range map[string]string{"start_run": "START_FAILED Prepared run not found: flow-a", "continue_run": "CONTINUE_FAILED Prepared run not found: flow-a"} {
		if code, text := c.refused(kind, object{"runId": "flow-a", "input": "again"}); code+" "+text != want {
			t.Errorf("%s %s", code, text)
		}
	}
	m = c.ask("prepare_run", object{"runId": "flow-a"})
	records, _ := m.field("conversation", "records").([]any)
	inputs, _ := m.field("conversation", "inputs").([]any)
	if len(records) != 1 || len(inputs) != 1 || !strings.Contains(m.raw, `"inputs":[{"text":"hi","beforeRecordId":"flow-a:`) || !strings.Contains(m.raw, `"userMessage":{"role":"user","content":"hi"}`) {
		t.Errorf("%s", m.raw)
	}
	if code, text := c.refused("start_run", object{"runId": "flow-a"}); code+" "+text != "START_FAILED Run was prepared for continuation: flow-a" {
		t.Errorf("%s %s", code, text)
	}
	c.send("continue_run", object{"runId": "flow-a", "input": "more"})
	list = c.until("flow-a", "strategy_completed")
	wantWords(t, list, "strategy_started", "step_started speaker", "speaker:step-start", "speaker:text", "agent_output", "speaker:done", "step_completed speaker", "strategy_completed")
	if *list[0].RequestID != "continue_run" || !strings.Contains(list[len(list)-1].raw, `<answer>\nyou said: hi\n</answer>`) {
		t.Errorf("it does not remember: %s", list[len(list)-1].raw)
	}
	var rows struct{ Runs []runSummary }
	if err := json.Unmarshal([]byte(c.ask("list_strategies", nil).raw), &rows); err != nil || len(rows.Runs) != 1 || rows.Runs[0].Status != "completed" || rows.Runs[0].StrategyName != "One" {
		t.Errorf("%+v %v", rows, err)
	}
}

// TestUser checks a strategy that starts with user input and has a cycle within a sequence.
func TestUser(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := s.strategy("user.json", flowOf(object{"user": object{"type": "user"}, "speaker": object{}, "printer": object{}},
		object{"name": "F", "type": "sequential", "steps": []object{
			{"agent": "user"},
			{"name": "Loop", "type": "cycle", "cycles": 5, "observer": "printer", "breakCycleSignals": []string{"you said"}, "steps": []object{{"agent": "speaker"}}},
		}}))
	c := s.dial()
	c.prepare("u", path, nil)
	c.send("start_run", object{"runId": "u"})
	asked := c.until("u", "request_input")
	wantWords(t, asked, "strategy_started", "step_started user", "request_input")
	if strings.Contains(asked[2].raw, "prompt") || asked[2].AgentName != "user" {
		t.Error(asked[2].raw)
	}
	if code, text := c.refused("user_input", object{"runId": "u", "agentName": "other", "text": "x"}); code+" "+text != "NO_PENDING_INPUT No pending input request for run u agent other" {
		t.Errorf("%s %s", code, text)
	}
	late := s.dial()
	late.send("subscribe", object{"runId": "u"})
	late.send("subscribe", object{"runId": "u"})
	if m := late.Next("the open prompt"); m.Type != "request_input" {
		t.Error(m.raw)
	}
	late.send("user_input", object{"runId": "u", "agentName": "user", "text": "hello"})
	for _, client := range []*client{c, late} {
		list := client.until("u", "strategy_completed")
		wantWords(t, list, "step_completed user", "step_started Loop", "speaker:step-start", "speaker:text", "agent_output", "speaker:done",
			"printer:step-start", "printer:text", "agent_output", "printer:done", "step_completed Loop", "strategy_completed")
		if list[0].field("result", "text") != "hello" || list[1].field("message") != "hello" || list[len(list)-1].field("result") != "you said: hello" {
			t.Errorf("%s\n%s", list[0].raw, list[len(list)-1].raw)
		}
	}
	// Input given at the start is not asked for.
	c.prepare("v", path, nil)
	c.send("start_run", object{"runId": "v", "input": "given"})
	list := c.until("v", "strategy_completed")
	if got := words(list[:4]); !cmp.Equal(got, []string{"strategy_started", "step_started user", "step_completed user", "step_started Loop"}) {
		t.Error(got)
	}
}

// TestBroadcast checks a broadcast: its steps run one after the other, each with the same input.
func TestBroadcast(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	c.prepare("b", s.strategy("b.json", flowOf(object{"speaker": object{}, "printer": object{}},
		object{"name": "All", "type": "broadcast", "separator": " | ", "steps": []object{{"agent": "speaker"}, {"agent": "printer"}}})), nil)
	c.send("start_run", object{"runId": "b", "input": "x"})
	list := c.until("b", "strategy_completed")
	wantWords(t, list, "strategy_started", "step_started speaker", "speaker:step-start", "speaker:text", "agent_output", "speaker:done", "step_completed speaker",
		"step_started printer", "printer:step-start", "printer:text", "agent_output", "printer:done", "step_completed printer", "strategy_completed")
	if got := list[len(list)-1].field("result"); got != "you said: x | [x]" {
		t.Error(got)
	}
}

// TestStreaming checks the events of thinking and of tools, and a failed run.
func TestStreaming(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	c.prepare("t", s.one(), nil)
	c.send("start_run", object{"runId": "t", "input": "think"})
	list := c.until("t", "strategy_completed")
	wantWords(t, list, "strategy_started", "step_started speaker", "speaker:step-start", "speaker:thinking-start", "speaker:thinking", "speaker:thinking-end",
		"speaker:text", "speaker:tool-call", "speaker:tool-result", "speaker:tool-call", "speaker:step-start", "speaker:text", "speaker:tool-result",
		"agent_output", "speaker:done", "step_completed speaker", "strategy_completed")
	var calls, results []string
	for _, m := range list {
		var e struct{ Type, ToolName, Args, Output, Status, Error string }
		if m.Event != nil && json.Unmarshal(m.Event, &e) == nil {
			switch e.Type {
			case "tool-call":
				calls = append(calls, e.ToolName+" "+e.Args)
			case "tool-result":
				results = append(results, e.Output+" "+e.Status+" "+e.Error)
			}
		}
	}
	if diff := cmp.Diff([]string{`read {"path":"x"}`, `execute {"command":"y"}`}, calls); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"the file completed ", " error not finished"}, results); diff != "" {
		t.Error(diff)
	}
	m := c.ask("prepare_run", object{"runId": "t"})
	if !strings.Contains(m.raw, `{"type":"tool-call","toolCallId":`) || !strings.Contains(m.raw, `"input":{"path":"x"}`) || !strings.Contains(m.raw, `"role":"tool"`) {
		t.Error(m.raw)
	}

	c.prepare("f", s.one(), nil)
	c.send("start_run", object{"runId": "f", "input": "fail"})
	list = c.until("f", "strategy_error")
	last := list[len(list)-1]
	wantWords(t, list, "strategy_started", "step_started speaker", "speaker:step-start", "strategy_error")
	text, _ := last.field("error", "message").(string)
	if last.field("error", "code") != "EXECUTION_ERROR" || !strings.HasPrefix(text, `Step "speaker" failed: `) || !strings.Contains(text, "out of order") || last.RequestID == nil {
		t.Error(last.raw)
	}
}

// TestStop checks stopping runs: prepared ones end at once, and live ones once they have stopped.
// Stopping any other run has no effect.
func TestStop(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	c.prepare("p", s.one(), nil)
	c.send("stop_run", object{"runId": "p"})
	m := c.Next("the end")
	if !m.is("strategy_error", "p") || m.field("error", "code") != "CANCELLED" || m.field("error", "message") != "Run cancelled by client" || m.RequestID != nil {
		t.Error(m.raw)
	}
	c.prepare("h", s.one(), nil)
	c.send("start_run", object{"runId": "h", "input": "hold " + filepath.Join(t.TempDir(), "never")})
	c.Await("it works", func(m message) bool { return strings.Contains(string(m.Event), "holding") })
	if code, text := c.refused("start_run", object{"runId": "h"}); code+" "+text != "START_FAILED Run already started: h" {
		t.Errorf("%s %s", code, text)
	}
	if code, text := c.refused("continue_run", object{"runId": "h", "input": ""}); code+" "+text != "CONTINUE_FAILED Run is not over: h" {
		t.Errorf("%s %s", code, text)
	}
	c.send("stop_run", object{"runId": "h"})
	m = c.Await("the end", func(m message) bool { return m.is("strategy_error", "h") })
	if m.field("error", "code") != "CANCELLED" || m.RequestID != nil {
		t.Error(m.raw)
	}
	for _, run := range []string{"h", "none", "../.."} {
		c.send("stop_run", object{"runId": run})
	}
	if m := c.ask("ping", nil); m.Type != "pong" || len(c.Kept) > 0 && c.Kept[len(c.Kept)-1].Type == "error" {
		t.Error(m.raw)
	}
}

// TestSteer checks steering of prepared, running and ended runs.
func TestSteer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	c.prepare("s", s.one(), nil)
	c.send("steer_run", object{"runId": "s", "text": "be brief"})
	if m := c.Next("what was said"); m.Type != "steer_queued" || m.field("text") != "be brief" || m.RequestID != nil {
		t.Error(m.raw)
	}
	c.send("start_run", object{"runId": "s", "input": "hi"})
	list := c.until("s", "strategy_completed")
	if got, _ := list[len(list)-1].field("result").(string); !strings.Contains(got, "<user_steering>\nbe brief\n</user_steering>") {
		t.Error(got)
	}
	for _, m := range list {
		if m.Type == "steer_queued" {
			t.Error("it is told twice")
		}
	}
	for _, run := range []string{"s", "none", ".."} {
		if code, text := c.refused("steer_run", object{"runId": run, "text": "x"}); code+" "+text != "RUN_NOT_STEERABLE Cannot steer run "+run+": not running" {
			t.Errorf("%s %s", code, text)
		}
	}
	release := filepath.Join(t.TempDir(), "go")
	c.prepare("l", s.one(), nil)
	c.send("start_run", object{"runId": "l", "input": "hold " + release})
	c.Await("it works", func(m message) bool { return m.RunID == "l" && strings.Contains(string(m.Event), "holding") })
	c.send("steer_run", object{"runId": "l", "text": "and greet"})
	c.Await("it is queued", func(m message) bool { return m.is("steer_queued", "l") })
	dialecttest.Write(t, release, "")
	m := c.Await("the end", func(m message) bool { return m.is("strategy_completed", "l") })
	if m.field("result") != "you said: and greet" {
		t.Error(m.raw) // the steering text ran as a further turn of the same call
	}
}

// TestPermission checks a permission request and each of its answers. A client that subscribes
// later also receives the open request.
func TestPermission(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	path := s.strategy("w.json", flowOf(object{"speaker": object{"tools": []string{"run_command", "write_file"}}}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "speaker"}}}))
	for decision, want := range map[string]string{"allow": "answered yes", "deny": "answered no", "allow-session": "answered ", "deny-session": "answered no"} {
		t.Run(decision, func(t *testing.T) {
			c := s.dial()
			run := "w-" + decision
			c.prepare(run, path, object{"cwd": s.Repo})
			outside := filepath.Join(s.Dir, "elsewhere.md")
			c.send("start_run", object{"runId": run, "input": "write " + outside})
			m := c.Await("it asks", func(m message) bool { return m.is("request_permission", run) })
			if m.field("operation") != "fs.write" || m.field("reason") != "policy-ask" || m.AgentName != "speaker" || m.field("details", "title") == nil {
				t.Error(m.raw)
			}
			if code, text := c.refused("permission_decision", object{"runId": run, "permissionRequestId": "int_none", "decision": "allow"}); code+" "+text != "NO_PENDING_PERMISSION No pending permission request int_none for run "+run {
				t.Errorf("%s %s", code, text)
			}
			late := s.dial()
			late.prepare(run, path, nil)
			again := late.Await("it is asked again", func(m message) bool { return m.is("request_permission", run) })
			if again.field("requestId") != m.field("requestId") {
				t.Error(again.raw)
			}
			late.send("permission_decision", object{"runId": run, "permissionRequestId": m.field("requestId"), "decision": decision})
			end := c.Await("the end", func(m message) bool { return m.is("strategy_completed", run) })
			if got, _ := end.field("result").(string); !strings.HasPrefix(got, want) {
				t.Error(end.raw)
			}
			for _, kept := range late.Kept {
				if kept.Type == "error" {
					t.Error(kept.raw)
				}
			}
			if code, _ := c.refused("permission_decision", object{"runId": run, "permissionRequestId": m.field("requestId"), "decision": "allow"}); code != "NO_PENDING_PERMISSION" {
				t.Error(code)
			}
		})
	}
}
