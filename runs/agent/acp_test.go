package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// acpActs returns a function that has the driver send what the client of a recording sent.
func acpActs(h *stage) func(message) {
	return func(m message) {
		var p struct {
			Prompt  []struct{ Text string }
			ModeID  string
			Outcome struct{ OptionID string }
		}
		decode(m.Params, &p)
		decode(m.Result, &p)
		var err error
		switch m.Method {
		case "session/prompt":
			err = h.d.Prompt(Prompt{ID: "p", Text: p.Prompt[0].Text})
		case "session/cancel":
			err = h.d.Interrupt()
		case "session/set_mode":
			a := h.d.(*acp)
			a.modes = append(a.modes, "default") // the driver never sends this by itself
			err = a.rpc.call(m.Method, struct{}{}, func(json.RawMessage, *failure) {})
		case "no/such":
			err = h.d.(*acp).rpc.call(m.Method, struct{}{}, func(json.RawMessage, *failure) {})
		case "":
			answer := Answer{State: Allowed}
			if p.Outcome.OptionID == "cancel" || p.Outcome.OptionID == "reject" {
				answer.State = Denied
			}
			err = h.d.Answer(h.asked[len(h.asked)-1].Key, answer)
		}
		if err != nil {
			h.t.Error(err)
		}
	}
}

// TestACPRecordings plays each recording and compares the calls to the host.
func TestACPRecordings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"acp-gemini-allow": {
			"conversation resumed=false ", "accepted", "asked permission: fs_exec touch acp-gemini.txt && echo made", "used 2200+-+50+-", "turn completed end_turn",
			"accepted", "used 3400+-+70+-", "turn completed end_turn",
		},
		"acp-gemini-reject": {
			"conversation resumed=false ", "accepted", "asked permission: fs_write /repo/acp-rejected.txt", "used 2200+-+50+-", "turn completed end_turn",
		},
		"acp-gemini-mode": {"conversation resumed=false ", "accepted", "used 2200+-+50+-", "turn completed end_turn"},
		"acp-opencode-allow": {
			"conversation resumed=false ", "accepted", "asked permission: fs_exec touch acp-opencode.txt && echo made", "used 300+900+20+10 $0.00183", "turn completed end_turn",
			"accepted", "used 600+1800+40+20 $0.00252", "turn completed end_turn",
		},
		"acp-opencode-reject": {
			"conversation resumed=false ", "accepted", "asked permission: fs_exec printf '%s' 'written by the stub\n' > /repo/acp-rejected.txt", "used 600+400+30+20 $0.00114", "turn completed end_turn",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newStage(t, ACP(), Start{})
			h.play(recording(t, name), acpActs(h))
			h.told(want...)
		})
	}
}

// TestACPCancels checks that an interrupted turn is reported as interrupted, and that the agent
// accepts no text during a turn.
func TestACPCancels(t *testing.T) {
	t.Parallel()
	h := newStage(t, ACP(), Start{})
	frames := recording(t, "acp-opencode-cancel")
	var one []recorded // without the second prompt, which is never sent
	for _, f := range frames {
		var m message
		decode(f.Msg, &m)
		if string(m.ID) != "4" {
			one = append(one, f)
		}
	}
	h.play(one, acpActs(h))
	if got := strings.Join(h.calls, "; "); !strings.Contains(got, "turn interrupted cancelled") || strings.Count(strings.Join(h.sent, "\n"), "session/prompt") != 1 {
		t.Error(got)
	}
	if err := h.d.Steer(Prompt{}); err != ErrQueue { //nolint:errorlint // it is that value
		t.Error(err)
	}
}

// TestACPLoads checks that the history that an agent replays is not reported again. If the
// agent does not find the conversation, a new one begins, unless it must resume.
func TestACPLoads(t *testing.T) {
	t.Parallel()
	h := newStage(t, ACP(), Start{Thread: "ses_dfe046f56ffeW2iZJHvfhFGc6D"})
	frames := recording(t, "acp-opencode-load")
	text := strings.Replace(string(frames[1].Msg), `"resume":{}`, `"list2":{}`, 1) // without resume, the driver loads
	frames[1].Msg = []byte(text)
	h.play(frames, acpActs(h))
	h.told("conversation resumed=true ", "accepted", "used 300+900+20+10 $0.00321", "turn completed end_turn")
	h = newStage(t, ACP(), Start{Thread: "7372a8ed-72a8-4664-a9af-9e4248903274"})
	lost := recording(t, "acp-gemini-load")[:4]
	h.play(lost, acpActs(h))
	if !strings.Contains(h.last(), `"method":"session/new","params":{"cwd":"/repo","mcpServers":[]}`) {
		t.Error(h.last())
	}
	h.line(`{"jsonrpc":"2.0","id":3,"result":{"sessionId":"s"}}`)
	if len(h.calls) != 1 || !strings.HasPrefix(h.calls[0], `conversation resumed=false Internal error: Invalid session identifier`) {
		t.Error(h.calls)
	}
	h = newStage(t, ACP(), Start{Thread: "7372a8ed-72a8-4664-a9af-9e4248903274", MustResume: true})
	h.play(lost, acpActs(h))
	if len(h.calls) != 1 || !strings.HasPrefix(h.calls[0], "broke resume_failed") {
		t.Error(h.calls)
	}
}

// acpOpened returns the stage of an agent whose session is open.
func acpOpened(t *testing.T, s Start, hello, opened string) *stage {
	t.Helper()
	h := newStage(t, ACP(), s)
	h.line("banner", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1`+hello+`}}`, `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"`+opened+`}}`)
	return h
}

// TestACPWords checks the frames that are sent, byte for byte.
func TestACPWords(t *testing.T) {
	t.Parallel()
	h := acpOpened(t, Start{Mode: "plan", Model: "m", Servers: []Server{{Name: "ac", Command: "/bin/ac", Args: []string{"mcp:files"}}}}, "",
		`,"modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"plan"}]},"models":{"availableModels":[{"modelId":"m"}]}`)
	for _, err := range []error{h.d.Prompt(Prompt{ID: "p", Text: "do"}), h.d.Mode("full_auto"), h.d.Interrupt()} {
		if err != nil {
			t.Error(err)
		}
	}
	h.line(`{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{}}`, `{"jsonrpc":"2.0","id":"t","method":"terminal/create","params":{}}`)
	want := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"agentcompany","title":"ac","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/repo","mcpServers":[{"name":"ac","command":"/bin/ac","args":["mcp:files"],"env":[]}]}}`,
		`{"jsonrpc":"2.0","id":3,"method":"session/set_model","params":{"sessionId":"s","modelId":"m"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"session/set_mode","params":{"sessionId":"s","modeId":"plan"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"do"}]}}`,
		`{"jsonrpc":"2.0","id":6,"method":"session/set_mode","params":{"sessionId":"s","modeId":"default"}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`,
		`{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"ac does not support fs/read_text_file"}}`,
		`{"jsonrpc":"2.0","id":"t","error":{"code":-32601,"message":"ac does not support terminal/create"}}`,
	}
	if diff := cmp.Diff(want, h.sent); diff != "" {
		t.Error(diff)
	}
	config := `,"configOptions":[{"id":"model","category":"model","currentValue":"a","options":[{"value":"a"},{"value":"m"}]},{"id":"mode","category":"mode","currentValue":"build","options":[{"value":"build"},{"value":"plan"}]}]`
	h = acpOpened(t, Start{Mode: "plan", Model: "m"}, "", config)
	if err := h.d.Mode("default"); err != nil {
		t.Error(err)
	}
	for i, want := range []string{`"configId":"model","value":"m"`, `"configId":"mode","value":"plan"`, `"configId":"mode","value":"build"`} {
		if !strings.Contains(h.sent[2+i], want) {
			t.Error(h.sent[2+i])
		}
	}
}

// TestACPRefusesWishes checks that a notice reports a model or mode that the agent does not
// offer or refuses.
func TestACPRefusesWishes(t *testing.T) {
	t.Parallel()
	h := acpOpened(t, Start{Mode: "plan", Model: "m"}, "", `,"modes":{"currentModeId":"default","availableModes":[{"id":"default"},{"id":"plan"}]}`)
	h.line(`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Internal error","data":{"details":"the folder is not trusted"}}}`)
	h.told(
		"notice The agent does not offer the model m: it works with its own.", "conversation resumed=false ",
		"notice The agent does not take the mode plan: Internal error: the folder is not trusted",
	)
	if h = acpOpened(t, Start{Model: "m", Named: true}, "", ""); len(h.calls) != 1 {
		t.Errorf("the command line names the model: %q", h.calls)
	}
	h = acpOpened(t, Start{Model: "m"}, "", `,"models":{"availableModels":[{"modelId":"m"}]}`)
	h.line(`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}`)
	h.told("conversation resumed=false ", "notice The agent does not take the model m: no")
}

// TestACPTools has a row for each kind of tool.
func TestACPTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, want string }{
		{`"kind":"read","locations":[{"path":"/a"},{"path":"/b"}]`, "asked permission: fs_read /a, fs_read /b"},
		{`"kind":"search"`, "asked permission: fs_read ."},
		{`"kind":"think"`, "asked permission: fs_read ."},
		{`"kind":"edit","locations":[{"path":"/a"}]`, "asked permission: fs_write /a"},
		{`"kind":"edit","content":[{"type":"diff","path":"/d","oldText":"","newText":"x"}]`, "asked permission: fs_write /d"},
		{`"kind":"delete"`, "asked permission: fs_write "},
		{`"kind":"move","locations":[{"path":"/a"},{"path":"/b"}]`, "asked permission: fs_write /a, fs_write /b"},
		{`"kind":"execute","rawInput":{"command":"rm x"},"title":"Shell"`, "asked permission: fs_exec rm x"},
		{`"kind":"execute","rawInput":{"command":["rm","x"]}`, "asked permission: fs_exec rm x"},
		{`"kind":"execute","title":"rm y"`, "asked permission: fs_exec rm y"},
		{`"kind":"fetch","rawInput":{"url":"https://example.com"}`, "asked permission: network https://example.com"},
		{`"kind":"fetch","title":"example.org"`, "asked permission: network example.org"},
		{`"kind":"switch_mode","title":"Leave plan mode"`, "asked plan: "},
		{`"kind":"other","title":"todo"`, "asked permission: mcp_tool builtin/todo"},
		{`"title":"mcp__s__t"`, "asked permission: mcp_tool s/t"},
		{`"title":"ac__who_am_i"`, "asked permission: mcp_tool ac/who_am_i"},
		{`"title":"other__tool"`, "asked permission: mcp_tool builtin/other__tool"},
		{`"toolCallId":"mcp_ac_who_am_i__1","title":"who_am_i (ac MCP Server)"`, "asked permission: mcp_tool ac/who_am_i"},
		{`"toolCallId":"mcp_x_who_am_i__1","title":"who_am_i (ac MCP Server)"`, "asked permission: mcp_tool builtin/who_am_i (ac MCP Server)"},
		{`"toolCallId":"mcp_x_tool__1","title":"tool (x MCP Server)"`, "asked permission: mcp_tool builtin/tool (x MCP Server)"},
	} {
		h := acpOpened(t, Start{Servers: []Server{{Name: "ac"}}}, "", "")
		h.calls = nil
		h.line(`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c",` + c.tool + `},"options":[]}}`)
		h.told(c.want)
	}
	h := acpOpened(t, Start{}, "", "")
	h.calls = nil
	h.line(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"c","kind":"execute","title":"t","rawInput":{"command":"rm z"}}}}`,
		`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c"},"options":[]}}`)
	h.told("asked permission: fs_exec rm z")
}

// TestACPAnswers has a row for each answer.
func TestACPAnswers(t *testing.T) {
	t.Parallel()
	both := `{"optionId":"aa","kind":"allow_always"},{"optionId":"ao","kind":"allow_once"},{"optionId":"ro","kind":"reject_once"},{"optionId":"ra","kind":"reject_always"}`
	for _, c := range []struct {
		name, options string
		answer        Answer
		want          string
		always        bool
	}{
		{"allowed", both, Answer{State: Allowed}, `{"outcome":"selected","optionId":"ao"}`, false},
		{"allowed for the session", both, Answer{State: Allowed, Session: true}, `{"outcome":"selected","optionId":"ao"}`, false},
		{"allowed for good", `{"optionId":"aa","kind":"allow_always"}`, Answer{State: Allowed}, `{"outcome":"selected","optionId":"aa"}`, true},
		{"denied", both, Answer{State: Denied}, `{"outcome":"selected","optionId":"ro"}`, false},
		{"denied for good", `{"optionId":"ra","kind":"reject_always"}`, Answer{State: Denied}, `{"outcome":"selected","optionId":"ra"}`, false},
		{"denied without a word for it", `{"optionId":"ao","kind":"allow_once"}`, Answer{State: Denied}, `{"outcome":"cancelled"}`, false},
		{"timed out", both, Answer{State: TimedOut}, `{"outcome":"selected","optionId":"ro"}`, false},
		{"cancelled", both, Answer{State: Cancelled}, `{"outcome":"cancelled"}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := acpOpened(t, Start{}, "", "")
			h.sent = nil
			h.line(`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c","kind":"execute","title":"x"},"options":[` + c.options + `]}}`)
			if h.asked[0].Always != c.always {
				t.Errorf("%+v", h.asked[0])
			}
			for range 2 {
				if err := h.d.Answer("0", c.answer); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":0,"result":{"outcome":` + c.want + `}}`}, h.sent); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestACPAsksAnew checks that an interrupt withdraws the open requests, so that an agent may
// use their ids again.
func TestACPAsksAnew(t *testing.T) {
	t.Parallel()
	h := acpOpened(t, Start{}, "", "")
	ask := `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"title":"ls"}}}`
	if err := h.d.Prompt(Prompt{Text: "do"}); err != nil {
		t.Fatal(err)
	}
	h.line(ask)
	if err := h.d.Interrupt(); err != nil {
		t.Fatal(err)
	}
	h.line(ask)
	h.told("conversation resumed=false ", "accepted", "asked permission: mcp_tool builtin/ls", "withdrawn 0", "asked permission: mcp_tool builtin/ls")
}

// TestACPEnds has a row for each way a turn can end.
func TestACPEnds(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`"result":{"stopReason":"end_turn"}`:                                              "turn completed end_turn",
		`"result":{"stopReason":"cancelled"}`:                                             "turn interrupted cancelled",
		`"result":{"stopReason":"max_tokens"}`:                                            "turn completed max_tokens",
		`"result":{"stopReason":"max_turn_requests"}`:                                     "turn completed max_turn_requests",
		`"result":{"stopReason":"refusal"}`:                                               "turn failed refusal the agent refused to go on",
		`"result":{"stopReason":"something new"}`:                                         "turn completed something new",
		`"error":{"code":-32603,"message":"Internal error","data":{"details":"no luck"}}`: "turn failed  Internal error: no luck",
	} {
		h := acpOpened(t, Start{}, "", "")
		if err := h.d.Prompt(Prompt{Text: "do"}); err != nil {
			t.Fatal(err)
		}
		h.line(`{"jsonrpc":"2.0","id":3,` + answer + `}`)
		if got := h.calls[len(h.calls)-1]; got != want {
			t.Errorf("%s: %s", answer, got)
		}
	}
}

// TestACPHandshakes checks the errors of failed handshakes.
func TestACPHandshakes(t *testing.T) {
	t.Parallel()
	for want, lines := range map[string][]string{
		"broke agent_protocol again=false: initialize: the agent speaks another version of the protocol": {`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}`},
		"broke agent_protocol again=false: initialize: no":                                               {`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`},
		"broke agent_auth_required again=false: session/new: Authentication required; ways to log in: Log in with X, A key": {
			`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"authMethods":[{"name":"Log in with X"},{"name":"A key"}]}}`,
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}`,
		},
		"broke agent_protocol again=false: session/new: the answer names no session": {`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`},
	} {
		h := newStage(t, ACP(), Start{})
		h.line(lines...)
		h.told(want)
	}
}
