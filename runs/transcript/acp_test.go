package transcript

import "testing"

// inACP is the beginning of an ACP session.
const inACP = "run.executing {\"driver\":\"acp\"}\nrun.turn_started {\"turn\":1,\"text\":\"\"}\n"

// updated returns a session/update of an agent.
func updated(kind, more string) string {
	return "> {\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"" + kind + "\"," + more + "}}}\n"
}

// chunkOfACP returns a piece of an agent's text.
func chunkOfACP(kind, id, text string) string {
	more := `"content":{"type":"text","text":"` + text + `"}`
	if id != "" {
		more = `"messageId":"` + id + `",` + more
	}
	return updated(kind, more)
}

// TestACP has a row for each message of ACP.
func TestACP(t *testing.T) {
	t.Parallel()
	runRows(t, append(acpTools(), []row{
		{
			"agent_message_chunk/with a messageId", inACP + chunkOfACP("agent_message_chunk", "m1", "one ") + chunkOfACP("agent_message_chunk", "m1", "two") + chunkOfACP("agent_message_chunk", "m2", "three"),
			"1:m1 message assistant open [3-4] turn=1 \"one two\"\n1:m2 message assistant open [5-5] turn=1 \"three\"",
		},
		{
			"agent_message_chunk/without one: the newest open one", inACP + chunkOfACP("agent_message_chunk", "", "one ") + chunkOfACP("agent_message_chunk", "", "two"),
			`1:seq3 message assistant open [3-4] turn=1 "one two"`,
		},
		{
			"agent_message_chunk/a new one after a tool call", inACP + chunkOfACP("agent_message_chunk", "m1", "one") + updated("tool_call", `"toolCallId":"c1","title":"ls","kind":"execute","status":"in_progress"`) + chunkOfACP("agent_message_chunk", "m1", "two"),
			`1:m1 message assistant closed [3-4] turn=1 "one"
			1:c1 tool assistant open [4-4] turn=1 execute "ls" kind=execute status=in_progress out=""
			1:m1.2 message assistant open [5-5] turn=1 "two"`,
		},
		{
			"agent_message_chunk/a new one after another kind", inACP + chunkOfACP("agent_thought_chunk", "", "hm") + chunkOfACP("agent_message_chunk", "", "one") + chunkOfACP("agent_thought_chunk", "", "hm"),
			`1:seq3 reasoning assistant closed [3-4] turn=1 "hm"
			1:seq4 message assistant closed [4-5] turn=1 "one"
			1:seq5 reasoning assistant open [5-5] turn=1 "hm"`,
		},
		{
			"agent_message_chunk/a new one after a turn", inACP + chunkOfACP("agent_message_chunk", "", "one") + `> {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}` + "\n" +
				"run.turn_ended {\"turn\":1,\"status\":\"completed\"}\nrun.turn_started {\"turn\":2,\"text\":\"\"}\n" + chunkOfACP("agent_message_chunk", "", "two"),
			`1:seq3 message assistant closed [3-4] turn=1 "one"
			1:seq7 message assistant open [7-7] turn=2 "two"`,
		},
		{
			"agent_message_chunk/other content is a notice", inACP + updated("agent_message_chunk", `"content":{"type":"image","data":"AAAA","mimeType":"image/png"}`),
			`1:seq3 notice system closed [3-3] turn=1 "[image]"`,
		},
		{
			"agent_thought_chunk", inACP + chunkOfACP("agent_thought_chunk", "m1", "hm ") + chunkOfACP("agent_thought_chunk", "m1", "hm"),
			`1:m1 reasoning assistant open [3-4] turn=1 "hm hm"`,
		},
		{"user_message_chunk/nothing", inACP + chunkOfACP("user_message_chunk", "m0", "hello"), ``},
		{
			"user_message_chunk/an item where there is no event of ours", "run.executing {}\n" + `> {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}` + "\n" + chunkOfACP("user_message_chunk", "m0", "hello"),
			`1:seq3 message user closed [3-3] "hello"`,
		},
		{
			"plan/entries replaced whole", inACP + updated("plan", `"entries":[{"content":"look","priority":"high","status":"in_progress"}]`) + updated("plan", `"entries":[{"content":"look","priority":"high","status":"completed"},{"content":"do","status":"pending"}]`),
			`1:plan plan assistant open [3-4] turn=1 "- [x] look\n- [ ] do" (completed look) (pending do)`,
		},
		{
			"plan/one of the session, over its turns", inACP + updated("plan", `"entries":[{"content":"look","status":"pending"}]`) + "run.turn_ended {\"turn\":1,\"status\":\"completed\"}\nrun.turn_started {\"turn\":2,\"text\":\"\"}\n" + updated("plan", `"entries":[{"content":"look","status":"completed"}]`),
			`1:plan plan assistant open [3-6] turn=1 "- [x] look" (completed look)`,
		},
		{
			"usage_update and other updates/nothing", inACP + updated("usage_update", `"used":1`) + updated("available_commands_update", `"availableCommands":[]`) + updated("current_mode_update", `"currentModeId":"x"`) +
				updated("config_option_update", `"configOptions":[]`) + updated("session_info_update", `"title":"x"`) + updated("something_new", `"content":{"type":"text","text":"x"}`),
			``,
		},
		{
			"before the first run.turn_started/history is nothing", "run.executing {\"driver\":\"acp\"}\n" + chunkOfACP("user_message_chunk", "m0", "hello") + chunkOfACP("agent_message_chunk", "m1", "old") +
				updated("tool_call", `"toolCallId":"c1","title":"ls","kind":"execute","status":"completed"`) + updated("plan", `"entries":[{"content":"look","status":"pending"}]`) + "run.turn_started {\"turn\":1,\"text\":\"\"}\n" + chunkOfACP("agent_message_chunk", "m1", "new"),
			`1:m1 message assistant open [7-7] turn=1 "new"`,
		},
	}...))
}

func acpTools() []row {
	call := func(more string) string { return updated("tool_call", `"toolCallId":"c1",`+more) }
	change := func(more string) string { return updated("tool_call_update", `"toolCallId":"c1",`+more) }
	asks := `> {"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c1","title":"touch a","kind":"execute","status":"pending","rawInput":{"command":"touch a"}},"options":[]}}` + "\n"
	rows := []row{
		{
			"tool_call/title, kind, status, locations", inACP + call(`"title":"bash","kind":"execute","status":"pending","locations":[{"path":"/repo","line":3}],"rawInput":{"cwd":"/repo"}`),
			`1:c1 tool assistant open [3-3] turn=1 execute "bash" kind=execute status=pending out="" at=/repo`,
		},
		{
			"tool_call_update/what changed", inACP + call(`"title":"bash","kind":"execute","status":"pending"`) + change(`"title":"ls","status":"in_progress"`),
			`1:c1 tool assistant open [3-4] turn=1 execute "ls" kind=execute status=in_progress out=""`,
		},
		{
			"tool_call_update/its output is the text of its content", inACP + call(`"title":"ls","kind":"execute","status":"pending"`) + change(`"status":"completed","content":[{"type":"content","content":{"type":"text","text":"a\n"}}],"rawOutput":{"output":"b","metadata":{"exit":0}}`),
			`1:c1 tool assistant closed [3-4] turn=1 execute "ls" kind=execute status=completed out="a\n" exit=0`,
		},
		{
			"tool_call_update/else rawOutput.output", inACP + call(`"title":"ls","kind":"execute","status":"pending"`) + change(`"status":"completed","rawOutput":{"output":"b"}`),
			`1:c1 tool assistant closed [3-4] turn=1 execute "ls" kind=execute status=completed out="b"`,
		},
		{
			"tool_call_update/else its JSON", inACP + call(`"title":"ls","kind":"execute","status":"pending"`) + change(`"status":"failed","rawOutput":{"error":"no"}`),
			`1:c1 tool assistant closed [3-4] turn=1 execute "ls" kind=execute status=failed out="{\"error\":\"no\"}"`,
		},
		{
			"tool_call/a diff is made of the texts", inACP + call(`"title":"Writing a","kind":"edit","status":"in_progress","content":[{"type":"diff","path":"/r/a","oldText":"x\n","newText":"y\n"}],"locations":[{"path":"/r/a"}]`),
			`1:c1 file_change assistant open [3-3] turn=1 edit "Writing a" kind=edit status=in_progress out="" at=/r/a diff="--- a/r/a\n+++ b/r/a\n@@ -1 +1 @@\n-x\n+y\n"`,
		},
		{
			"tool_call_update/an unknown id opens an item", inACP + change(`"title":"ls","kind":"execute","status":"in_progress"`),
			`1:c1 tool assistant open [3-3] turn=1 execute "ls" kind=execute status=in_progress out=""`,
		},
		{
			"tool_call/the same id again is another call", inACP + call(`"title":"ls","kind":"execute","status":"completed"`) + change(`"title":"late"`) + call(`"title":"pwd","kind":"execute","status":"pending"`) + change(`"status":"completed"`),
			`1:c1 tool assistant closed [3-3] turn=1 execute "ls" kind=execute status=completed out=""
			1:c1.2 tool assistant closed [5-6] turn=1 execute "pwd" kind=execute status=completed out=""`,
		},
		{
			"session/request_permission/opens the tool that is not known", inACP + asks,
			`1:c1 tool assistant open [3-3] turn=1 execute "touch a" kind=execute status=pending out=""`,
		},
		{
			"session/request_permission/says nothing about the status of one that is", inACP + call(`"title":"bash","kind":"execute","status":"in_progress"`) + asks,
			`1:c1 tool assistant open [3-4] turn=1 execute "touch a" kind=execute status=in_progress out=""`,
		},
	}
	for kind, want := range map[string]string{
		"read": "tool read", "edit": "file_change edit", "delete": "file_change delete", "move": "file_change move", "search": "tool search",
		"execute": "tool execute", "think": "tool think", "fetch": "tool fetch", "switch_mode": "tool other", "other": "tool other", "something_new": "tool other",
	} {
		item, kindOf := cutWord(want)
		rows = append(rows, row{
			"kind " + kind, inACP + call(`"title":"t","kind":"`+kind+`","status":"in_progress"`),
			`1:c1 ` + item + ` assistant open [3-3] turn=1 ` + kind + ` "t" kind=` + kindOf + ` status=in_progress out=""`,
		})
	}
	return rows
}
