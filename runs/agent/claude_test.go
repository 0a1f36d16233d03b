package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/runs/usage"
)

// claudeFrames returns a recording of claude, with the uuids of its texts replaced by ours.
func claudeFrames(t *testing.T, name string) []recorded {
	t.Helper()
	frames := recording(t, name)
	text, err := json.Marshal(frames)
	if err != nil {
		t.Fatal(err)
	}
	all := string(text)
	for old, id := range map[string]string{
		"11111111-1111-4111-8111-111111111111": "p1", "44444444-4444-4444-8444-444444444444": "p1", "55555555-5555-4555-8555-555555555555": "p2",
		"22222222-2222-4222-8222-222222222222": "p1", "33333333-3333-4333-8333-333333333333": "p2",
	} {
		all = strings.ReplaceAll(all, old, uuid(id))
	}
	frames = nil
	if err := json.Unmarshal([]byte(all), &frames); err != nil {
		t.Fatal(err)
	}
	return frames
}

// playClaude plays a recording. Calls of the driver send what its client sent.
func (h *stage) playClaude(frames []recorded) {
	h.t.Helper()
	said := 0
	for i, frame := range frames {
		if frame.From == "agent" {
			h.d.Line(frame.Msg)
			continue
		}
		var m struct {
			Type     string
			Request  struct{ Subtype, Mode string }
			Message  struct{ Content string }
			Response struct {
				RequestID string `json:"request_id"`
				Response  struct {
					Behavior string
					Message  string
					Input    struct{ Answers map[string]string } `json:"updatedInput"`
				}
			}
		}
		decode(frame.Msg, &m)
		c := h.d.(*claude)
		before := len(h.sent)
		var err error
		switch {
		case m.Type == "user" && (!c.active || said == 0):
			said++
			err = h.d.Prompt(Prompt{ID: "p" + string(rune('0'+said)), Text: m.Message.Content})
		case m.Type == "user":
			said++
			err = h.d.Steer(Prompt{ID: "p" + string(rune('0'+said)), Text: m.Message.Content})
		case m.Request.Subtype == "interrupt":
			err = h.d.Interrupt()
		case m.Request.Subtype == "set_permission_mode":
			err = h.d.Mode("default")
		case m.Type == "control_response":
			a := Answer{State: Denied, Text: m.Response.Response.Message}
			if m.Response.Response.Behavior == "allow" {
				a = Answer{State: Allowed}
			}
			if answers := m.Response.Response.Input.Answers; answers != nil {
				a = Answer{State: Answered, Answers: map[string][]string{}}
				for question, text := range answers {
					a.Answers[question] = []string{text}
				}
			}
			err = h.d.Answer(m.Response.RequestID, a)
			if err == nil && len(h.sent) > before {
				if diff := cmp.Diff(plainJSON(frame.Msg), plainJSON([]byte(h.last()))); diff != "" {
					h.t.Errorf("frame %d: %s", i+1, diff)
				}
			}
		default:
			continue // the handshake, and frames that the driver never sends
		}
		if err != nil || len(h.sent) == before {
			h.t.Fatalf("frame %d: %v, nothing was sent for %s", i+1, err, frame.Msg)
		}
	}
}

// greeted returns the stage of a claude whose handshake is done.
func greeted(t *testing.T, s Start) *stage {
	t.Helper()
	h := newStage(t, Claude(), s)
	h.line(`{"type":"control_response","response":{"subtype":"success","request_id":"ac_1","response":{"commands":[]}}}`)
	if len(h.calls) != 1 {
		t.Fatalf("%v", h.calls)
	}
	h.calls = nil
	return h
}

// TestClaudeRecordings plays each recording and compares the calls to the host.
func TestClaudeRecordings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"claude-allow":     {"accepted", "asked permission: fs_exec touch approved2.txt && echo made", "used 900+1300+80+0 $0.00546", "turn completed end_turn"},
		"claude-deny":      {"accepted", "asked permission: fs_write /repo/denied.txt", "used 900+1300+80+0 $0.00546", "turn completed end_turn"},
		"claude-question":  {"accepted", "asked question: ", "used 900+1300+80+0 $0.00546", "turn completed end_turn"},
		"claude-plan":      {"accepted", "asked plan: ", "used 900+1300+80+0 $0.00546", "turn completed end_turn"},
		"claude-mcp-tool":  {"accepted", "asked permission: mcp_tool ac/whoami", "used 900+1300+80+0 $0.00546", "turn completed end_turn"},
		"claude-interrupt": {"accepted", "used 600+400+1+- $0.00252", "turn interrupted", "accepted", "used 1200+800+51+0 $0.00600", "turn completed end_turn"},
		"claude-cancel-prompt": {
			"accepted", "asked permission: fs_exec touch never.txt", "withdrawn 7ad1fe9e-8b59-49e3-a299-4420082176cb",
			"used 600+400+50+0 $0.00348", "turn interrupted tool_use",
		},
		"claude-steer-tool":  {"accepted", "steer p2 mid_turn", "used 900+1300+80+0 $0.00546", "turn completed end_turn"},
		"claude-steer-queue": {"accepted", "used 600+400+50+0 $0.00348", "turn completed end_turn", "turn began for p2", "used 1200+800+100+0 $0.00696", "turn completed end_turn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := greeted(t, Start{})
			h.playClaude(claudeFrames(t, name))
			h.told(want...)
		})
	}
}

// TestClaudeCacheWrites checks that tokens written to the cache count as input and are also
// reported separately, summed over the turns of the session.
func TestClaudeCacheWrites(t *testing.T) {
	t.Parallel()
	h := greeted(t, Start{})
	for range 2 {
		if err := h.d.Prompt(Prompt{ID: "p"}); err != nil {
			t.Fatal(err)
		}
		h.line(`{"type":"result","usage":{"input_tokens":3,"cache_creation_input_tokens":70,"cache_read_input_tokens":5,"output_tokens":2}}`)
	}
	h.told("accepted", "used 73+5+2+0", "turn completed", "accepted", "used 146+10+4+0", "turn completed")
	if got := h.used.CacheWrite; got == nil || *got != 140 || h.used.Total != 160 {
		t.Errorf("%+v", h.used)
	}
}

// TestCacheWritesOfOthers checks the cache writes of the other protocols. Codex includes them
// in the input; ACP reports them beside it. A resumed thread counts only the new ones, if these
// are known.
func TestCacheWritesOfOthers(t *testing.T) {
	t.Parallel()
	written := func(h *stage) int64 {
		if h.used.CacheWrite == nil {
			return -1
		}
		return *h.used.CacheWrite
	}
	h := newStage(t, ACP(), Start{})
	h.line(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`)
	if err := h.d.Prompt(Prompt{ID: "p"}); err != nil {
		t.Fatal(err)
	}
	h.line(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":10,"cachedWriteTokens":4,"outputTokens":1}}}`)
	if got := counted(h.used); got != "14+0+1+0" || written(h) != 4 || h.used.Total != 15 {
		t.Errorf("acp: %s, %d written of %d", got, written(h), h.used.Total)
	}
	for name, c := range map[string]struct {
		start Start
		told  string
		want  int64
	}{
		"new":            {Start{}, "", 9},
		"told at resume": {Start{Thread: "th"}, `{"method":"thread/tokenUsage/updated","params":{"threadId":"th","tokenUsage":{"total":{"inputTokens":50,"cacheWriteInputTokens":6,"totalTokens":50}}}}`, 3},
		"of a record":    {Start{Thread: "th", Baseline: usage.Report{Counters: usage.Counters{Input: new(int64(50)), Total: 50}}}, "", -1},
	} {
		h := newStage(t, Codex(), c.start)
		h.line(`{"id":1,"result":{}}`, `{"id":2,"result":{"thread":{"id":"th"}}}`)
		if c.told != "" {
			h.line(c.told)
		}
		if err := h.d.Prompt(Prompt{ID: "p"}); err != nil {
			t.Fatal(err)
		}
		h.line(`{"method":"thread/tokenUsage/updated","params":{"threadId":"th","tokenUsage":{"total":{"inputTokens":100,"cachedInputTokens":20,"cacheWriteInputTokens":9,"totalTokens":100}}}}`)
		if written(h) != c.want {
			t.Errorf("codex, %s: %d written, want %d", name, written(h), c.want)
		}
	}
}

// TestClaudeResumes checks that the cost of a resumed conversation counts only from its
// baseline, while its usage is per turn.
func TestClaudeResumes(t *testing.T) {
	t.Parallel()
	h := greeted(t, Start{Thread: "6b3f6d81", Baseline: usage.Report{CostUSD: new(0.006)}})
	if !h.talk.Resumed {
		t.Error("it is no conversation that goes on")
	}
	h.playClaude(claudeFrames(t, "claude-resume"))
	h.told("accepted", "used 600+400+50+0 $0.00348", "turn completed end_turn")
}

// TestClaudeForgot checks that the handshake fails if claude does not find the conversation.
// Claude is then to be restarted without it, unless it must resume.
func TestClaudeForgot(t *testing.T) {
	t.Parallel()
	for _, must := range []bool{false, true} {
		h := newStage(t, Claude(), Start{Thread: "00000000-0000-4000-8000-000000000000", MustResume: must})
		frames := claudeFrames(t, "claude-resume-unknown")
		h.d.Line(frames[len(frames)-1].Msg)
		again := "true"
		if must {
			again = "false"
		}
		h.told("broke resume_failed again=" + again + ": No conversation found with session ID: 00000000-0000-4000-8000-000000000000")
	}
}

// TestClaudeRefusesAMode checks that a refused mode causes a notice and nothing else.
func TestClaudeRefusesAMode(t *testing.T) {
	t.Parallel()
	h := greeted(t, Start{})
	if err := h.d.Mode("plan"); err != nil {
		t.Fatal(err)
	}
	before := len(h.calls)
	h.line(`{"type":"control_response","response":{"subtype":"error","request_id":"ac_2","error":"not now"}}`)
	if got := h.calls[before:]; len(got) != 1 || got[0] != "notice The agent does not take the mode: not now" {
		t.Errorf("%q", got)
	}
}

// TestClaudeWords checks the frames that are sent, byte for byte.
func TestClaudeWords(t *testing.T) {
	t.Parallel()
	h := greeted(t, Start{})
	for _, err := range []error{h.d.Prompt(Prompt{ID: "p", Text: "do <it>"}), h.d.Mode("plan"), h.d.Mode("full_auto"), h.d.Interrupt(), h.d.Interrupt()} {
		if err != nil {
			t.Error(err)
		}
	}
	h.line(`{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback"}}`)
	want := []string{
		`{"type":"control_request","request_id":"ac_1","request":{"subtype":"initialize","hooks":null}}`,
		`{"type":"user","message":{"role":"user","content":"do <it>"},"parent_tool_use_id":null,"session_id":"","uuid":"` + uuid("p") + `"}`,
		`{"type":"control_request","request_id":"ac_2","request":{"subtype":"set_permission_mode","mode":"plan"}}`,
		`{"type":"control_request","request_id":"ac_3","request":{"subtype":"set_permission_mode","mode":"default"}}`,
		`{"type":"control_request","request_id":"ac_4","request":{"subtype":"interrupt"}}`,
		`{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"ac does not support hook_callback"}}`,
	}
	if diff := cmp.Diff(want, h.sent); diff != "" {
		t.Error(diff)
	}
	if id := uuid("p"); len(id) != 36 || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) {
		t.Error(id)
	}
}

// TestClaudeTools has a row for each tool that claude asks for.
func TestClaudeTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, input, want string }{
		{"Read", `{"file_path":"/a"}`, "asked permission: fs_read /a"},
		{"Glob", `{"path":"/b","pattern":"*"}`, "asked permission: fs_read /b"},
		{"Grep", `{"pattern":"x"}`, "asked permission: fs_read ."},
		{"LS", `{"path":"/c"}`, "asked permission: fs_read /c"},
		{"NotebookRead", `{"notebook_path":"/n"}`, "asked permission: fs_read /n"},
		{"Write", `{"file_path":"/a","content":"x"}`, "asked permission: fs_write /a"},
		{"Edit", `{"file_path":"/a","old_string":"x","new_string":"y"}`, "asked permission: fs_write /a"},
		{"MultiEdit", `{"file_path":"/a"}`, "asked permission: fs_write /a"},
		{"NotebookEdit", `{"notebook_path":"/n"}`, "asked permission: fs_write /n"},
		{"Bash", `{"command":"rm x"}`, "asked permission: fs_exec rm x"},
		{"BashOutput", `{}`, "asked permission: fs_exec "},
		{"KillShell", `{}`, "asked permission: fs_exec "},
		{"WebFetch", `{"url":"https://example.com"}`, "asked permission: network https://example.com"},
		{"WebSearch", `{"query":"go"}`, "asked permission: network search:go"},
		{"mcp__s__t", `{}`, "asked permission: mcp_tool s/t"},
		{"AskUserQuestion", `{"questions":[{"question":"Which?"}]}`, "asked question: "},
		{"ExitPlanMode", `{"plan":"1"}`, "asked plan: "},
		{"Task", `{}`, "asked permission: mcp_tool builtin/Task"},
		{"Write", `7`, "asked permission: fs_write "},
	} {
		h := greeted(t, Start{})
		h.line(`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"` + c.tool + `","input":` + c.input + `,"tool_use_id":"i"}}`)
		h.told(c.want)
	}
}

// TestClaudeAnswers has a row for each answer.
func TestClaudeAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, tool, input string
		answer            Answer
		want              string
	}{
		{"allowed", "Bash", `{"command":"x"}`, Answer{State: Allowed}, `{"behavior":"allow","updatedInput":{"command":"x"}}`},
		{"allowed for the session", "Bash", `{"command":"x"}`, Answer{State: Allowed, Session: true}, `{"behavior":"allow","updatedInput":{"command":"x"}}`},
		{"denied", "Bash", `{"command":"x"}`, Answer{State: Denied, Text: "Denied by human."}, `{"behavior":"deny","message":"Denied by human."}`},
		{"timed out", "Bash", `{"command":"x"}`, Answer{State: TimedOut}, `{"behavior":"deny","message":"Nobody answered in time."}`},
		{"cancelled", "Bash", `{"command":"x"}`, Answer{State: Cancelled}, `{"behavior":"deny","message":"Cancelled."}`},
		{"answered", "AskUserQuestion", `{"questions":[{"question":"Which?"}]}`, Answer{State: Answered, Answers: map[string][]string{"Which?": {"A", "B"}}}, `{"behavior":"allow","updatedInput":{"questions":[{"question":"Which?"}],"answers":{"Which?":"A, B"}}}`},
		{"not answered", "AskUserQuestion", `{"questions":[{"question":"Which?"}]}`, Answer{State: TimedOut}, `{"behavior":"deny","message":"The question was not answered."}`},
		{"plan allowed", "ExitPlanMode", `{}`, Answer{State: Allowed}, `{"behavior":"allow","updatedInput":{}}`},
		{"plan denied", "ExitPlanMode", `{}`, Answer{State: Denied, Text: "no"}, `{"behavior":"deny","message":"no"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := greeted(t, Start{})
			h.line(`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"` + c.tool + `","input":` + c.input + `}}`)
			for range 2 {
				if err := h.d.Answer("r", c.answer); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff([]string{`{"type":"control_response","response":{"subtype":"success","request_id":"r","response":` + c.want + `}}`}, h.sent[1:]); diff != "" {
				t.Error(diff)
			}
		})
	}
	h := greeted(t, Start{})
	h.line(`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}`, `{"type":"control_cancel_request","request_id":"r"}`)
	if err := h.d.Answer("r", Answer{State: Allowed}); err != nil || len(h.sent) != 1 {
		t.Error(err, h.sent)
	}
}

// TestClaudeHandshakes checks the errors of failed handshakes, and that older releases work
// without one.
func TestClaudeHandshakes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"type":"control_response","response":{"subtype":"error","request_id":"ac_1","error":"Unsupported","error_code":"unsupported_request"}}`: "conversation resumed=false ",
		`{"type":"control_response","response":{"subtype":"error","request_id":"ac_1","error":"odd"}}`:                                            "broke agent_protocol again=false: initialize: odd",
		`{"type":"result","is_error":true,"num_turns":0,"result":"Invalid API key"}`:                                                              "broke agent_protocol again=false: Invalid API key",
	} {
		h := newStage(t, Claude(), Start{})
		h.line("no JSON", line)
		h.told(want)
	}
}
