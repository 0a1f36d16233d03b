package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/runs/usage"
)

// codexActs returns a function that has the driver send what the client of a recording sent.
func codexActs(h *stage) func(message) {
	said := 0
	return func(m message) {
		var p struct {
			ThreadID       string
			ExpectedTurnID string
			Input          []struct{ Text string }
			Decision       string
			Action         string
		}
		decode(m.Params, &p)
		decode(m.Result, &p)
		var err error
		switch {
		case m.Method == "turn/start":
			err = h.d.Prompt(Prompt{ID: "turn", Text: p.Input[0].Text})
		case m.Method == "turn/interrupt":
			err = h.d.Interrupt()
		case m.Method == "turn/steer":
			said++
			c := h.d.(*codex)
			turn, active := c.turn, c.active
			c.turn, c.active = p.ExpectedTurnID, true // like a caller that is late
			err = h.d.Steer(Prompt{ID: "msg-" + string(rune('0'+said)), Text: p.Input[0].Text})
			c.turn, c.active = turn, active
		case m.Method == "" && len(h.asked) > 0:
			answer := Answer{State: Denied}
			switch p.Decision + p.Action {
			case "accept":
				answer.State = Allowed
			case "cancel":
				answer = Answer{State: Cancelled, Stopping: true}
			}
			err = h.d.Answer(h.asked[len(h.asked)-1].Key, answer)
		}
		if err != nil {
			h.t.Error(err)
		}
	}
}

// TestCodexRecordings plays each recording and compares the calls to the host.
func TestCodexRecordings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"codex-approve": {
			"conversation resumed=false ", "accepted", "asked permission: fs_exec touch approved.txt && echo made",
			"used 600+400+30+20", "used 900+1300+50+30", "turn completed",
		},
		"codex-decline": {
			"conversation resumed=false ", "accepted", "asked permission: fs_exec touch decline.txt && echo made",
			"used 600+400+30+20", "used 900+1300+50+30", "turn completed",
		},
		"codex-cancel": {
			"conversation resumed=false ", "accepted", "asked permission: fs_exec touch cancel.txt && echo made", "used 600+400+30+20", "turn interrupted",
		},
		"codex-file-change": {
			"conversation resumed=false ", "accepted", "asked permission: fs_write /repo/patched.txt",
			"used 600+400+30+20", "used 900+1300+50+30", "turn completed",
		},
		"codex-mcp-tool": {
			"conversation resumed=false ", "accepted", "asked permission: mcp_tool ac/whoami", "used 600+400+30+20", "used 900+1300+50+30", "turn completed",
		},
		"codex-turn-failed": {
			"conversation resumed=false ", "accepted",
			"turn failed  unexpected status 401 Unauthorized: stub says 401, url: http://127.0.0.1:8080/v1/responses",
		},
		"codex-interrupt": {
			"conversation resumed=false ", "accepted", "turn interrupted", "accepted", "used 600+400+30+20", "turn completed",
		},
		"codex-steer": {
			"conversation resumed=false ", "accepted", "steer msg-1 returned", "steer msg-2 mid_turn", "used 600+400+30+20", "turn completed", "steer msg-3 returned",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newStage(t, Codex(), Start{HasApprover: true, Sandbox: "workspace-write"})
			h.play(recording(t, name), codexActs(h))
			got := h.calls
			if name == "codex-approve" { // its other turns are in other recordings
				got = got[:min(len(got), len(want))]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCodexResumes checks that earlier usage of a resumed thread does not count, whether codex
// reports it or only our record has it.
func TestCodexResumes(t *testing.T) {
	t.Parallel()
	frames := recording(t, "codex-resume")
	known := append(append([]recorded{}, frames[:3]...), frames[5:]...)
	h := newStage(t, Codex(), Start{Thread: "01a201f9-37ca-7580-b5d2-ec4e160a0581", Sandbox: "read-only"})
	h.play(known, codexActs(h))
	h.told("conversation resumed=true ", "accepted", "used 600+400+30+20", "turn completed")
	if !strings.Contains(h.sent[2], `"method":"thread/resume","params":{"threadId":"01a201f9-37ca-7580-b5d2-ec4e160a0581","model":null,"cwd":"/repo","approvalPolicy":"never","sandbox":"read-only","excludeTurns":true}`) {
		t.Error(h.sent[2])
	}
	recorded := usage.Report{Counters: usage.Counters{Input: new(int64(600)), Cached: new(int64(400)), Output: new(int64(30)), Reasoning: new(int64(20)), Total: 1050}}
	h = newStage(t, Codex(), Start{Thread: "th", Baseline: recorded})
	h.line(`{"id":1,"result":{}}`, `{"id":2,"result":{"thread":{"id":"th"}}}`)
	if err := h.d.Prompt(Prompt{Text: "more"}); err != nil {
		t.Fatal(err)
	}
	h.line(`{"method":"thread/tokenUsage/updated","params":{"threadId":"th","tokenUsage":{"total":{"totalTokens":2100,"inputTokens":2000,"cachedInputTokens":800,"outputTokens":100,"reasoningOutputTokens":40}}}}`)
	h.told("conversation resumed=true ", "used 600+400+30+20")
}

// TestCodexForgot checks that a new thread begins in the same process if codex does not find
// the old one. If it must resume that one, the handshake fails.
func TestCodexForgot(t *testing.T) {
	t.Parallel()
	frames := recording(t, "codex-resume")[:5]
	h := newStage(t, Codex(), Start{Thread: "00000000-0000-7000-8000-000000000000"})
	h.play(frames, codexActs(h))
	if !strings.Contains(h.last(), `"method":"thread/start"`) {
		t.Error(h.last())
	}
	h.line(`{"id":3,"result":{"thread":{"id":"th"}}}`)
	h.told("conversation resumed=false no rollout found for thread id 00000000-0000-7000-8000-000000000000")
	h = newStage(t, Codex(), Start{Thread: "00000000-0000-7000-8000-000000000000", MustResume: true})
	h.play(frames, codexActs(h))
	h.told("broke resume_failed again=false: thread/resume: no rollout found for thread id 00000000-0000-7000-8000-000000000000")
}

// opened returns the stage of a codex whose thread is th.
func opened(t *testing.T, s Start) *stage {
	t.Helper()
	h := newStage(t, Codex(), s)
	h.line("starting up, no JSON", `[1]`, `{"neither":true}`, `{"id":99,"result":{}}`, `{"id":1,"result":{"userAgent":"agentcompany/0.169.0 (Linux)"}}`, `{"id":2,"result":{"thread":{"id":"th"}}}`)
	if len(h.calls) != 1 || h.talk.Version != "0.169.0" || h.talk.Thread != "th" {
		t.Fatalf("%v %+v", h.calls, h.talk)
	}
	h.calls, h.sent = nil, nil
	return h
}

// inTurn returns the stage of a codex whose turn tu is in progress.
func inTurn(t *testing.T) *stage {
	t.Helper()
	h := opened(t, Start{HasApprover: true})
	if err := h.d.Prompt(Prompt{ID: "p", Text: "go"}); err != nil {
		t.Fatal(err)
	}
	h.line(`{"id":3,"result":{"turn":{"id":"tu"}}}`)
	h.calls, h.sent = nil, nil
	return h
}

// TestCodexWords checks the frames that are sent, byte for byte.
func TestCodexWords(t *testing.T) {
	t.Parallel()
	h := newStage(t, Codex(), Start{Sandbox: "read-only"})
	h.line(`{"id":1,"result":{}}`, `{"method":"thread/started","params":{}}`, `{"id":2,"result":{"thread":{"id":"th_1"}}}`)
	for _, err := range []error{h.d.Prompt(Prompt{ID: "p1", Text: `do <it> & "that"`})} {
		if err != nil {
			t.Error(err)
		}
	}
	h.line(`{"id":3,"result":{"turn":{"id":"tu_1"}}}`)
	if err := h.d.Interrupt(); err != nil {
		t.Error(err)
	}
	for _, id := range []string{`"ask"`, `0`, `-3`, `9007199254740993`, `1.50`} {
		h.line(`{"id":` + id + `,"method":"item/tool/call","params":{}}`)
	}
	want := []string{
		`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"agentcompany","version":"1"},"capabilities":null}}`,
		`{"method":"initialized"}`,
		`{"id":2,"method":"thread/start","params":{"model":null,"cwd":"/repo","approvalPolicy":"never","sandbox":"read-only"}}`,
		`{"id":3,"method":"turn/start","params":{"threadId":"th_1","clientUserMessageId":"p1","input":[{"type":"text","text":"do <it> & \"that\"","text_elements":[]}]}}`,
		`{"id":4,"method":"turn/interrupt","params":{"threadId":"th_1","turnId":"tu_1"}}`,
	}
	for _, id := range []string{`"ask"`, `0`, `-3`, `9007199254740993`, `1.50`} {
		want = append(want, `{"id":`+id+`,"error":{"code":-32601,"message":"ac does not support item/tool/call"}}`)
	}
	if diff := cmp.Diff(want, h.sent); diff != "" {
		t.Error(diff)
	}
	h = newStage(t, Codex(), Start{
		HasApprover: true, Sandbox: "workspace-write", Model: "m", Without: []string{"shell_tool"},
		Servers: []Server{{Name: "ac", Command: "/bin/ac", Args: []string{"mcp:files"}}},
	})
	h.line(`{"id":1,"result":{}}`)
	if !strings.HasSuffix(h.last(), `"params":{"model":"m","cwd":"/repo","approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":"workspace-write","config":{"features":{"shell_tool":false},"mcp_servers":{"ac":{"command":"/bin/ac","args":["mcp:files"]}}}}}`) {
		t.Error(h.last())
	}
}

// TestCodexAsks has a row for each request of codex, and for each answer.
func TestCodexAsks(t *testing.T) {
	t.Parallel()
	item := `{"method":"item/started","params":{"threadId":"th","item":{"id":"i","type":"fileChange","changes":[{"path":"/repo/a","kind":{"type":"add"},"diff":"x\n"},{"path":"/repo/b","kind":{"type":"update"},"diff":"@@ -1 +1 @@\n-a\n+b\n"}]}}}`
	for _, c := range []struct {
		name, request string
		asked         string
		answer        Answer
		result        string
	}{
		{"command allowed once", `"method":"item/commandExecution/requestApproval","params":{"command":"/bin/bash -lc 'rm x'","cwd":"/repo"}`, "asked permission: fs_exec rm x", Answer{State: Allowed}, `{"decision":"accept"}`},
		{"command allowed for the session", `"method":"item/commandExecution/requestApproval","params":{"command":"rm x"}`, "asked permission: fs_exec rm x", Answer{State: Allowed, Session: true}, `{"decision":"acceptForSession"}`},
		{"command denied", `"method":"item/commandExecution/requestApproval","params":{"command":"rm x"}`, "asked permission: fs_exec rm x", Answer{State: Denied}, `{"decision":"decline"}`},
		{"command timed out", `"method":"item/commandExecution/requestApproval","params":{"command":"rm x"}`, "asked permission: fs_exec rm x", Answer{State: TimedOut}, `{"decision":"decline"}`},
		{"command cancelled", `"method":"item/commandExecution/requestApproval","params":{"command":"rm x"}`, "asked permission: fs_exec rm x", Answer{State: Cancelled}, `{"decision":"decline"}`},
		{"command cancelled on a stop", `"method":"item/commandExecution/requestApproval","params":{"command":"rm x"}`, "asked permission: fs_exec rm x", Answer{State: Cancelled, Stopping: true}, `{"decision":"cancel"}`},
		{"network", `"method":"item/commandExecution/requestApproval","params":{"command":"curl x","networkApprovalContext":{"host":"example.com"}}`, "asked permission: network example.com", Answer{State: Allowed}, `{"decision":"accept"}`},
		{"file change", `"method":"item/fileChange/requestApproval","params":{"itemId":"i"}`, "asked permission: fs_write /repo/a, fs_write /repo/b", Answer{State: Allowed}, `{"decision":"accept"}`},
		{"file change of an unknown item", `"method":"item/fileChange/requestApproval","params":{"itemId":"other"}`, "asked permission: fs_write ", Answer{State: Denied}, `{"decision":"decline"}`},
		{"profile allowed", `"method":"item/permissions/requestApproval","params":{"permissions":{"fileSystem":{"write":["/a"],"read":["/b"]},"network":{"enabled":true}}}`, "asked permission: fs_write /a, fs_read /b, network ", Answer{State: Allowed}, `{"permissions":{"fileSystem":{"write":["/a"],"read":["/b"]},"network":{"enabled":true}},"scope":"turn"}`},
		{"profile allowed for the session", `"method":"item/permissions/requestApproval","params":{"permissions":{"fileSystem":{"entries":[{"path":"/a","access":"readwrite"}]}}}`, "asked permission: fs_write /a", Answer{State: Allowed, Session: true}, `{"permissions":{"fileSystem":{"entries":[{"path":"/a","access":"readwrite"}]}},"scope":"session"}`},
		{"profile denied", `"method":"item/permissions/requestApproval","params":{"permissions":{"fileSystem":{"write":["/a"]}}}`, "asked permission: fs_write /a", Answer{State: Denied}, `{"permissions":{},"scope":"turn"}`},
		{"question answered", `"method":"item/tool/requestUserInput","params":{"questions":[{"id":"q","question":"Which?","isOther":true,"options":[{"label":"A","description":"a"}]}]}`, "asked question: ", Answer{State: Answered, Answers: map[string][]string{"q": {"A"}}}, `{"answers":{"q":{"answers":["A"]}}}`},
		{"question cancelled", `"method":"item/tool/requestUserInput","params":{"questions":[{"id":"q","question":"Which?"}]}`, "asked question: ", Answer{State: Cancelled}, `{"answers":{}}`},
		{"question timed out", `"method":"item/tool/requestUserInput","params":{"questions":[{"id":"q","question":"Which?"}]}`, "asked question: ", Answer{State: TimedOut}, `{"answers":{}}`},
		{"tool allowed", `"method":"mcpServer/elicitation/request","params":{"serverName":"s","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"t"}}`, "asked permission: mcp_tool s/t", Answer{State: Allowed}, `{"action":"accept","content":{},"_meta":null}`},
		{"tool denied", `"method":"mcpServer/elicitation/request","params":{"serverName":"s","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"t"}}`, "asked permission: mcp_tool s/t", Answer{State: Denied}, `{"action":"decline","content":{},"_meta":null}`},
		{"form answered", `"method":"mcpServer/elicitation/request","params":{"serverName":"s","mode":"form","message":"Fill in","requestedSchema":{"type":"object","properties":{"size":{"type":"integer"},"colour":{"type":"string","enum":["red"]},"sure":{"type":"boolean"}}}}`, "asked question: ", Answer{State: Answered, Answers: map[string][]string{"size": {"3"}, "colour": {"red"}, "sure": {"true"}}}, `{"action":"accept","content":{"size":3,"colour":"red","sure":true},"_meta":null}`},
		{"form cancelled", `"method":"mcpServer/elicitation/request","params":{"serverName":"s","mode":"form","requestedSchema":{"properties":{"size":{"type":"integer"}}}}`, "asked question: ", Answer{State: TimedOut}, `{"action":"cancel","content":null,"_meta":null}`},
		{"address", `"method":"mcpServer/elicitation/request","params":{"serverName":"s","mode":"url","url":"https://example.com"}`, "asked input: ", Answer{State: Cancelled}, `{"action":"cancel","content":null,"_meta":null}`},
		{"older command", `"method":"execCommandApproval","params":{"command":["bash","-lc","rm x"],"callId":"c"}`, "asked permission: fs_exec rm x", Answer{State: Allowed, Session: true}, `{"decision":"approved_for_session"}`},
		{"older command allowed", `"method":"execCommandApproval","params":{"command":["rm","x"]}`, "asked permission: fs_exec rm x", Answer{State: Allowed}, `{"decision":"approved"}`},
		{"older patch denied", `"method":"applyPatchApproval","params":{"fileChanges":{"/repo/b":{},"/repo/a":{}}}`, "asked permission: fs_write /repo/a, fs_write /repo/b", Answer{State: Denied}, `{"decision":"denied"}`},
		{"older patch on a stop", `"method":"applyPatchApproval","params":{"fileChanges":{"/repo/b":{}}}`, "asked permission: fs_write /repo/b", Answer{State: Cancelled, Stopping: true}, `{"decision":"abort"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := inTurn(t)
			h.line(item, `{"id":0,`+c.request+`}`)
			h.told(c.asked)
			for range 2 { // the second answer is a no-op
				if err := h.d.Answer(h.asked[0].Key, c.answer); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff([]string{`{"id":0,"result":` + c.result + `}`}, h.sent); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCodexShows checks what people see of a file change.
func TestCodexShows(t *testing.T) {
	t.Parallel()
	h := inTurn(t)
	h.line(`{"method":"item/started","params":{"threadId":"th","item":{"id":"i","type":"fileChange","changes":[{"path":"a","kind":{"type":"add"},"diff":"x\n"}]}}}`,
		`{"id":"r","method":"item/fileChange/requestApproval","params":{"itemId":"i"}}`)
	q := h.asked[0]
	if q.Item != "i" || q.Title != "Change a" || q.Diff != "--- /dev/null\n+++ a\n@@ -0,0 +1 @@\n+x\n" {
		t.Errorf("%+v", q)
	}
}

// TestCodexWithdraws checks that a request is not answered after codex resolved it by itself.
func TestCodexWithdraws(t *testing.T) {
	t.Parallel()
	h := inTurn(t)
	h.line(`{"id":7,"method":"item/commandExecution/requestApproval","params":{"command":"x"}}`, `{"method":"serverRequest/resolved","params":{"threadId":"th","requestId":7}}`)
	h.told("asked permission: fs_exec x", "withdrawn 7")
	if err := h.d.Answer("7", Answer{State: Allowed}); err != nil || len(h.sent) > 0 {
		t.Error(err, h.sent)
	}
}

// TestCodexSteers checks that a text waits for the id of its turn. It is returned if the turn
// has ended, and refused on any other error.
func TestCodexSteers(t *testing.T) {
	t.Parallel()
	h := opened(t, Start{})
	if err := h.d.Steer(Prompt{ID: "s0"}); err != ErrQueue { //nolint:errorlint // it is that value
		t.Error(err)
	}
	for _, err := range []error{h.d.Prompt(Prompt{ID: "p", Text: "go"}), h.d.Steer(Prompt{ID: "s1", Text: "one"})} {
		if err != nil {
			t.Error(err)
		}
	}
	h.line(`{"id":3,"result":{"turn":{"id":"tu"}}}`)
	if !strings.Contains(h.last(), `"method":"turn/steer","params":{"threadId":"th","expectedTurnId":"tu","clientUserMessageId":"s1","input":[{"type":"text","text":"one","text_elements":[]}]}`) {
		t.Error(h.last())
	}
	h.line(`{"method":"item/started","params":{"threadId":"th","item":{"type":"userMessage","clientId":"s1"}}}`, `{"id":4,"result":{"turnId":"tu"}}`)
	if err := h.d.Steer(Prompt{ID: "s2"}); err != nil {
		t.Error(err)
	}
	h.line(`{"id":5,"error":{"code":-32600,"message":"too long"}}`)
	h.told("accepted", "steer s1 mid_turn", "steer s2 refused: too long")
	h = opened(t, Start{})
	for _, err := range []error{h.d.Prompt(Prompt{ID: "p"}), h.d.Steer(Prompt{ID: "s"})} {
		if err != nil {
			t.Error(err)
		}
	}
	h.line(`{"id":3,"error":{"code":-1,"message":"no"}}`)
	h.told("steer s returned", "turn failed  turn/start: no")
}

// TestCodexInterruptsEarly checks that an interrupt waits for the id of its turn.
func TestCodexInterruptsEarly(t *testing.T) {
	t.Parallel()
	h := opened(t, Start{})
	for _, err := range []error{h.d.Interrupt(), h.d.Prompt(Prompt{ID: "p"}), h.d.Interrupt(), h.d.Interrupt()} {
		if err != nil {
			t.Error(err)
		}
	}
	if len(h.sent) != 1 {
		t.Error(h.sent)
	}
	h.line(`{"method":"turn/started","params":{"threadId":"th","turn":{"id":"tu"}}}`)
	if !strings.Contains(h.last(), `"turn/interrupt"`) {
		t.Error(h.last())
	}
}

// TestCodexOthers checks sub-agents, which have threads of their own. Their usage counts, and
// their other messages are ignored.
func TestCodexOthers(t *testing.T) {
	t.Parallel()
	h := inTurn(t)
	h.line(
		`{"method":"thread/tokenUsage/updated","params":{"threadId":"th","tokenUsage":{"total":{"inputTokens":5,"outputTokens":2}}}}`,
		`{"method":"thread/tokenUsage/updated","params":{"threadId":"th_2","tokenUsage":{"total":{"inputTokens":7,"outputTokens":1}}}}`,
		`{"method":"error","params":{"threadId":"th_2","error":{"message":"of the other"}}}`,
		`{"method":"turn/completed","params":{"threadId":"th_2","turn":{"id":"tu_2","status":"failed"}}}`,
		`{"method":"thread/compacted","params":{"threadId":"th"}}`,
		`{"method":"thread/tokenUsage/updated","params":{"threadId":"th","tokenUsage":{"total":{"inputTokens":6,"outputTokens":3}}}}`,
		`{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"tu","status":"completed"}}}`,
	)
	h.told("used 5+-+2+-", "used 12+-+3+-", "cycle thread/compacted", "used 13+-+4+-", "turn completed")
}

// TestCodexEnds has a row for each way a turn can end.
func TestCodexEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"interrupted":     {`{"method":"turn/completed","params":{"turn":{"status":"interrupted"}}}`, "turn interrupted"},
		"odd error":       {`{"method":"turn/completed","params":{"turn":{"status":"completed","error":"text"}}}`, "turn completed"},
		"odd status":      {`{"method":"turn/completed","params":{"turn":{"status":"exploded"}}}`, "turn failed"},
		"of another turn": {`{"method":"turn/completed","params":{"turn":{"id":"tu_0","status":"completed"}}}`, ""},
	} {
		h := inTurn(t)
		h.line(c.line)
		if got := strings.Join(h.calls, "; "); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	h := opened(t, Start{})
	if err := h.d.Prompt(Prompt{}); err != nil {
		t.Error(err)
	}
	h.line(`{"method":"error","params":{"error":{"message":"m"}}}`, `{"method":"turn/completed","params":{"turn":{"status":"failed"}}}`, `{"id":3,"result":{"turn":{"id":"tu"}}}`)
	h.told("turn failed  m")
}

// TestCodexHandshakes checks the errors of failed handshakes.
func TestCodexHandshakes(t *testing.T) {
	t.Parallel()
	for want, lines := range map[string][]string{
		"broke agent_protocol again=false: initialize: no":                           {`{"id":1,"error":{"code":-1,"message":"no"}}`},
		"broke agent_auth_required again=false: initialize: You are not logged in":   {`{"id":1,"error":{"code":-1,"message":"You are not logged in"}}`},
		"broke agent_protocol again=false: thread/start: odd":                        {`{"id":1,"result":{}}`, `{"id":2,"error":{"message":"odd"}}`},
		"broke agent_protocol again=false: thread/start: the answer names no thread": {`{"id":1,"result":{}}`, `{"id":2,"result":{"thread":7}}`},
	} {
		h := newStage(t, Codex(), Start{})
		h.line(lines...)
		h.told(want)
	}
}

// TestCodexUsageWithoutThread checks that a usage report without a thread belongs to the
// conversation's own thread, which is counted once.
func TestCodexUsageWithoutThread(t *testing.T) {
	t.Parallel()
	h := inTurn(t)
	for _, thread := range []string{``, `"threadId":"th",`, `"threadId":"sub",`, ``} {
		h.line(`{"method":"thread/tokenUsage/updated","params":{` + thread + `"tokenUsage":{"total":{"totalTokens":110,"inputTokens":100,"outputTokens":10}}}}`)
	}
	if h.used.Total != 220 {
		t.Errorf("%d tokens, %q", h.used.Total, h.calls)
	}
}
