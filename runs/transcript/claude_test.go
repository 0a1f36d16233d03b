package transcript

import "testing"

// inClaude is the beginning of a live session of claude.
const inClaude = "run.executing {\"driver\":\"claude\"}\nrun.turn_started {\"turn\":1,\"text\":\"\"}\n"

// TestClaude has a row for each message of claude.
func TestClaude(t *testing.T) {
	t.Parallel()
	stream := func(event string) string {
		return "> {\"type\":\"stream_event\",\"event\":" + event + ",\"parent_tool_use_id\":null}\n"
	}
	whole := func(block string) string {
		return "> {\"type\":\"assistant\",\"message\":{\"id\":\"msg\",\"content\":[" + block + "]}}\n"
	}
	start := inClaude + stream(`{"type":"message_start","message":{"id":"msg"}}`)
	text := stream(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	bash := `{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls","description":"list"}}`
	result := func(more string) string {
		return "> {\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_1\"," + more + "}\n"
	}
	runRows(t, append(claudeTools(), []row{
		{"stream_event message_start/nothing", start, ``},
		{"content_block_start text", start + text, `1:msg#0 message assistant open [4-4] turn=1`},
		{
			"content_block_start thinking", start + stream(`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":""}}`),
			`1:msg#1 reasoning assistant open [4-4] turn=1`,
		},
		{
			"content_block_start tool_use", start + stream(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}}`),
			`1:toolu_1 tool assistant open [4-4] turn=1 Bash "Bash" kind=execute status=pending out=""`,
		},
		{
			"content_block_delta text_delta", start + text + stream(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`),
			`1:msg#0 message assistant open [4-5] turn=1 "Hi"`,
		},
		{
			"content_block_delta thinking_delta", start + stream(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`) + stream(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`),
			`1:msg#0 reasoning assistant open [4-5] turn=1 "hm"`,
		},
		{
			"content_block_delta input_json_delta/nothing", start + stream(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}}`) + stream(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`),
			`1:toolu_1 tool assistant open [4-4] turn=1 Bash "Bash" kind=execute status=pending out=""`,
		},
		{
			"content_block_stop/nothing", start + text + stream(`{"type":"content_block_stop","index":0}`),
			`1:msg#0 message assistant open [4-4] turn=1`,
		},
		{
			"assistant/without partial messages opens and closes", inClaude + whole(`{"type":"thinking","thinking":"hm"}`) + whole(`{"type":"text","text":"Hi"}`),
			"1:msg#0 reasoning assistant closed [3-3] turn=1 \"hm\"\n1:msg#1 message assistant closed [4-4] turn=1 \"Hi\"",
		},
		{
			"assistant/with partial messages sets the text and closes", start + text + stream(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"H"}}`) + whole(`{"type":"text","text":"Hi"}`),
			`1:msg#0 message assistant closed [4-6] turn=1 "Hi"`,
		},
		{
			"assistant/a tool has its input and is at work", inClaude + whole(bash),
			`1:toolu_1 tool assistant open [3-3] turn=1 Bash "ls" kind=execute status=in_progress out=""`,
		},
		{
			"user with tool_result/closes the tool", inClaude + whole(bash) + result(`"content":"a"}]}`),
			`1:toolu_1 tool assistant closed [3-4] turn=1 Bash "ls" kind=execute status=completed out="a"`,
		},
		{
			"user with tool_result/is_error", inClaude + whole(bash) + result(`"content":[{"type":"text","text":"no"}],"is_error":true}]}`),
			`1:toolu_1 tool assistant closed [3-4] turn=1 Bash "ls" kind=execute status=failed out="no"`,
		},
		{
			"user with tool_result/the stdout that came with it", inClaude + whole(bash) + result(`"content":"short"}]},"tool_use_result":{"stdout":"all of it","stderr":""}`),
			`1:toolu_1 tool assistant closed [3-4] turn=1 Bash "ls" kind=execute status=completed out="all of it"`,
		},
		{
			"user otherwise/nothing", inClaude + `> {"type":"user","message":{"content":"more"},"uuid":"u1","isReplay":true}` + "\n" + `> {"type":"user","message":{"content":[{"type":"text","text":"more"}]}}`,
			``,
		},
		{
			"user otherwise/an item where there is no event of ours", "run.executing {}\n" + `> {"type":"user","message":{"content":"more"},"uuid":"u1","isReplay":true}` + "\n" + `> {"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}`,
			`1:u1 message user closed [2-2] "more"`,
		},
		{"user [Request interrupted by user]/nothing", inClaude + `> {"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`, ``},
		{"result/nothing", inClaude + whole(`{"type":"text","text":"Hi"}`) + `> {"type":"result","is_error":false,"result":"Hi"}`, `1:msg#0 message assistant closed [3-3] turn=1 "Hi"`},
		{"result/an error, of which run.turn_ended tells", inClaude + `> {"type":"result","is_error":true,"result":"no"}`, ``},
		{"result/an error in an old log", "run.executing {}\n" + `> {"type":"result","subtype":"error_during_execution","is_error":true,"errors":["no such conversation"]}`, `1:seq2 notice system closed [2-2] "no such conversation"`},
		{
			"system init, status, others/nothing", inClaude + `> {"type":"system","subtype":"init","session_id":"s"}` + "\n" + `> {"type":"system","subtype":"status","status":"requesting"}` + "\n" + `> {"type":"command_lifecycle","state":"queued"}` + "\n" +
				`> {"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool"}}` + "\n" + `> {"type":"control_response","response":{}}` + "\n" + `> {"type":"control_cancel_request","request_id":"1"}` + "\n" + `> {"type":"rate_limit_event"}` + "\n" + `> {"type":"something_new"}`,
			``,
		},
		{"system compact_boundary", inClaude + `> {"type":"system","subtype":"compact_boundary"}`, `1:seq3 notice system closed [3-3] turn=1 "The context was compacted."`},
		{
			"parent_tool_use_id/items of a sub-agent", inClaude + `> {"type":"assistant","parent_tool_use_id":"toolu_9","message":{"id":"sub","content":[{"type":"text","text":"looking"}]}}` + "\n" +
				`> {"type":"assistant","parent_tool_use_id":"toolu_9","message":{"id":"sub","content":[` + bash + `]}}`,
			"1:sub#0 message assistant closed [3-3] turn=1 parent=toolu_9 \"looking\"\n1:toolu_1 tool assistant open [4-4] turn=1 parent=toolu_9 Bash \"ls\" kind=execute status=in_progress out=\"\"",
		},
	}...))
}

// claudeTools has a row for each kind of tool.
func claudeTools() (rows []row) {
	for _, c := range []struct{ name, input, want string }{
		{"Read", `{"file_path":"/r/a.go"}`, `tool assistant open [3-3] turn=1 Read "Read /r/a.go" kind=read status=in_progress out="" at=/r/a.go`},
		{"Grep", `{"pattern":"x","path":"/r"}`, `tool assistant open [3-3] turn=1 Grep "Grep x" kind=search status=in_progress out="" at=/r`},
		{"Glob", `{"pattern":"*.go"}`, `tool assistant open [3-3] turn=1 Glob "Glob *.go" kind=search status=in_progress out=""`},
		{"Write", `{"file_path":"a","content":"x\n"}`, `file_change assistant open [3-3] turn=1 Write "Write a" kind=edit status=in_progress out="" at=a diff="--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+x\n"`},
		{"Edit", `{"file_path":"a","old_string":"x","new_string":"y"}`, `file_change assistant open [3-3] turn=1 Edit "Edit a" kind=edit status=in_progress out="" at=a diff="--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"`},
		{"MultiEdit", `{"file_path":"a","edits":[{"old_string":"x","new_string":"y"}]}`, `file_change assistant open [3-3] turn=1 MultiEdit "MultiEdit a" kind=edit status=in_progress out="" at=a diff="--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"`},
		{"NotebookEdit", `{"notebook_path":"n.ipynb"}`, `file_change assistant open [3-3] turn=1 NotebookEdit "NotebookEdit n.ipynb" kind=edit status=in_progress out="" at=n.ipynb`},
		{"BashOutput", `{"bash_id":"1"}`, `tool assistant open [3-3] turn=1 BashOutput "BashOutput" kind=execute status=in_progress out=""`},
		{"WebFetch", `{"url":"https://example.com"}`, `tool assistant open [3-3] turn=1 WebFetch "https://example.com" kind=fetch status=in_progress out=""`},
		{"WebSearch", `{"query":"q"}`, `tool assistant open [3-3] turn=1 WebSearch "WebSearch q" kind=search status=in_progress out=""`},
		{"Agent", `{"description":"look","prompt":"p"}`, `tool assistant open [3-3] turn=1 Agent "Agent look" kind=think status=in_progress out=""`},
		{"mcp__ac__whoami", `{}`, `tool assistant open [3-3] turn=1 mcp__ac__whoami "ac/whoami" kind=mcp status=in_progress out="" server=ac`},
		{"AskUserQuestion", `{"questions":[]}`, `tool assistant open [3-3] turn=1 AskUserQuestion "AskUserQuestion" kind=other status=in_progress out=""`},
	} {
		rows = append(rows, row{
			"tool " + c.name, inClaude + `> {"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"toolu_1","name":"` + c.name + `","input":` + c.input + `}]}}`,
			"1:toolu_1 " + c.want,
		})
	}
	return append(rows, row{
		"tool Edit/the hunks that its result has", inClaude + `> {"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"/r/a","old_string":"x","new_string":"y"}}]}}` + "\n" +
			`> {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"done"}]},"tool_use_result":{"filePath":"/r/a","structuredPatch":[{"oldStart":3,"oldLines":2,"newStart":3,"newLines":2,"lines":[" a","-x","+y"]}]}}`,
		`1:t file_change assistant closed [3-4] turn=1 Edit "Edit /r/a" kind=edit status=completed out="done" at=/r/a diff="--- a/r/a\n+++ b/r/a\n@@ -3,2 +3,2 @@\n a\n-x\n+y\n"`,
	})
}
