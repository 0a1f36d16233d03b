package transcript

import (
	"strings"
	"testing"
)

// inCodex is the beginning of a session with the app server. The rows show what follows.
const inCodex = "run.executing {\"driver\":\"codex\"}\nrun.turn_started {\"turn\":1,\"text\":\"\"}\n"

func started(item string) string {
	return "> {\"method\":\"item/started\",\"params\":{\"threadId\":\"t\",\"turnId\":\"u\",\"item\":" + item + "}}\n"
}

func completed(item string) string { return strings.Replace(started(item), "started", "completed", 1) }

// TestCodexAppServer has a row for each message of the app server.
func TestCodexAppServer(t *testing.T) {
	t.Parallel()
	runRows(t, append(codexItems(), codexNotifications()...))
}

func codexItems() []row {
	tool := func(kind, rest, want string) row {
		item := `{"type":"` + kind + `","id":"i1"` + rest + `}`
		return row{kind, inCodex + started(item) + completed(strings.Replace(item, `"inProgress"`, `"completed"`, 1)), want}
	}
	return []row{
		{
			"agentMessage/open and closed with its text",
			inCodex + started(`{"type":"agentMessage","id":"m1","text":""}`) + completed(`{"type":"agentMessage","id":"m1","text":"Done."}`),
			`1:m1 message assistant closed [3-4] turn=1 "Done."`,
		},
		{
			"reasoning/its summary, joined by blank lines",
			inCodex + completed(`{"type":"reasoning","id":"r1","summary":["one","two"],"content":["raw"]}`),
			`1:r1 reasoning assistant closed [3-3] turn=1 "one\n\ntwo"`,
		},
		{
			"reasoning/else its content",
			inCodex + completed(`{"type":"reasoning","id":"r1","summary":[],"content":["raw","more"]}`),
			`1:r1 reasoning assistant closed [3-3] turn=1 "raw\n\nmore"`,
		},
		{
			"commandExecution/in progress",
			inCodex + started(`{"type":"commandExecution","id":"e1","command":"/bin/bash -lc 'ls -l && echo \"a\"'","cwd":"/repo","status":"inProgress","aggregatedOutput":null,"exitCode":null}`),
			`1:e1 tool assistant open [3-3] turn=1 shell "ls -l && echo \"a\"" kind=execute status=in_progress out=""`,
		},
		{
			"commandExecution/completed",
			inCodex + completed(`{"type":"commandExecution","id":"e1","command":"ls","status":"completed","aggregatedOutput":"made\n","exitCode":0}`),
			`1:e1 tool assistant closed [3-3] turn=1 shell "ls" kind=execute status=completed out="made\n" exit=0`,
		},
		{
			"commandExecution/failed",
			inCodex + completed(`{"type":"commandExecution","id":"e1","command":"false","status":"failed","aggregatedOutput":"","exitCode":1}`),
			`1:e1 tool assistant closed [3-3] turn=1 shell "false" kind=execute status=failed out="" exit=1`,
		},
		{
			"commandExecution/declined",
			inCodex + completed(`{"type":"commandExecution","id":"e1","command":"rm x","status":"declined","exitCode":null}`),
			`1:e1 tool assistant closed [3-3] turn=1 shell "rm x" kind=execute status=declined out=""`,
		},
		{
			"fileChange/add: the diff is the content",
			inCodex + started(`{"type":"fileChange","id":"p1","changes":[{"path":"/repo/new.txt","kind":{"type":"add"},"diff":"hello\nyou\n"}],"status":"inProgress"}`),
			`1:p1 file_change assistant open [3-3] turn=1 apply_patch "/repo/new.txt" kind=edit status=in_progress out="" at=/repo/new.txt diff="--- /dev/null\n+++ b/repo/new.txt\n@@ -0,0 +1,2 @@\n+hello\n+you\n"`,
		},
		{
			"fileChange/update and delete",
			inCodex + completed(`{"type":"fileChange","id":"p1","changes":[{"path":"a","kind":{"type":"update","move_path":"b"},"diff":"@@ -1 +1 @@\n-x\n+y\n"},{"path":"c","kind":{"type":"delete"},"diff":"gone"}],"status":"completed"}`),
			`1:p1 file_change assistant closed [3-3] turn=1 apply_patch "a c" kind=edit status=completed out="" at=a at=c diff="--- a/a\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n--- a/c\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n"`,
		},
		tool("mcpToolCall", `,"server":"ac","tool":"whoami","status":"inProgress","arguments":{"a":1},"result":{"content":[{"type":"text","text":"agent_A"}]}`,
			`1:i1 tool assistant closed [3-4] turn=1 whoami "ac/whoami" kind=mcp status=completed out="agent_A" server=ac`),
		tool("dynamicToolCall", `,"tool":"look","status":"inProgress","arguments":{},"contentItems":[{"type":"inputText","text":"seen"}]`,
			`1:i1 tool assistant closed [3-4] turn=1 look "look" kind=other status=completed out="seen"`),
		tool("collabAgentToolCall", `,"tool":"spawnAgent","status":"inProgress","prompt":"look for it"`,
			`1:i1 tool assistant closed [3-4] turn=1 spawnAgent "spawnAgent look for it" kind=other status=completed out=""`),
		tool("webSearch", `,"query":"go 1.26"`, `1:i1 tool assistant closed [3-4] turn=1 web_search "go 1.26" kind=search status=completed out=""`),
		tool("imageView", `,"path":"/repo/a.png"`, `1:i1 tool assistant closed [3-4] turn=1 imageView "/repo/a.png" kind=read status=completed out="" at=/repo/a.png`),
		tool("imageGeneration", `,"status":"inProgress"`, `1:i1 tool assistant closed [3-4] turn=1 imageGeneration "imageGeneration" kind=other status=completed out=""`),
		tool("sleep", ``, `1:i1 tool assistant closed [3-4] turn=1 sleep "sleep" kind=other status=completed out=""`),
		tool("somethingNew", `,"status":"inProgress"`, `1:i1 tool assistant closed [3-4] turn=1 somethingNew "somethingNew" kind=other status=completed out=""`),
		{
			"plan/text",
			inCodex + started(`{"type":"plan","id":"p1","text":""}`) + completed(`{"type":"plan","id":"p1","text":"1. look"}`),
			`1:p1 plan assistant closed [3-4] turn=1 "1. look"`,
		},
		tool("contextCompaction", ``, `1:i1 notice system closed [4-4] turn=1 "The context was compacted."`),
		tool("enteredReviewMode", ``, `1:i1 notice system closed [4-4] turn=1 "Review mode was entered."`),
		tool("exitedReviewMode", ``, `1:i1 notice system closed [4-4] turn=1 "Review mode was left."`),
	}
}

func codexNotifications() []row {
	note := func(method, params string) string {
		return "> {\"method\":\"" + method + "\",\"params\":" + params + "}\n"
	}
	message := started(`{"type":"agentMessage","id":"m1","text":""}`)
	return []row{
		{
			"item/agentMessage/delta", inCodex + message + note("item/agentMessage/delta", `{"itemId":"m1","delta":"one "}`) + note("item/agentMessage/delta", `{"itemId":"m1","delta":"two"}`),
			`1:m1 message assistant open [3-5] turn=1 "one two"`,
		},
		{
			"item/plan/delta", inCodex + note("item/plan/delta", `{"itemId":"p1","delta":"1. look"}`),
			`1:p1 plan assistant open [3-3] turn=1 "1. look"`,
		},
		{
			"item/reasoning/textDelta", inCodex + note("item/reasoning/textDelta", `{"itemId":"r1","delta":"hm"}`),
			`1:r1 reasoning assistant open [3-3] turn=1 "hm"`,
		},
		{
			"item/reasoning/summaryTextDelta and summaryPartAdded", inCodex + note("item/reasoning/summaryPartAdded", `{"itemId":"r1"}`) + note("item/reasoning/summaryTextDelta", `{"itemId":"r1","delta":"one"}`) +
				note("item/reasoning/summaryPartAdded", `{"itemId":"r1"}`) + note("item/reasoning/summaryTextDelta", `{"itemId":"r1","delta":"two"}`),
			`1:r1 reasoning assistant open [4-6] turn=1 "one\n\ntwo"`,
		},
		{
			"item/commandExecution/outputDelta", inCodex + started(`{"type":"commandExecution","id":"e1","command":"ls","status":"inProgress"}`) + note("item/commandExecution/outputDelta", `{"itemId":"e1","delta":"a\n"}`),
			`1:e1 tool assistant open [3-4] turn=1 shell "ls" kind=execute status=in_progress out="a\n"`,
		},
		{
			"item/fileChange/outputDelta", inCodex + started(`{"type":"fileChange","id":"e1","changes":[{"path":"a","kind":{"type":"update"},"diff":""}],"status":"inProgress"}`) + note("item/fileChange/outputDelta", `{"itemId":"e1","delta":"ok"}`),
			`1:e1 file_change assistant open [3-4] turn=1 apply_patch "a" kind=edit status=in_progress out="ok" at=a`,
		},
		{
			"turn/plan/updated", inCodex + note("turn/plan/updated", `{"turnId":"u","plan":[{"step":"look","status":"completed"},{"step":"do","status":"inProgress"},{"step":"test","status":"pending"}]}`),
			`1:turn-u-plan plan assistant open [3-3] turn=1 "- [x] look\n- [ ] do (in progress)\n- [ ] test" (completed look) (in_progress do) (pending test)`,
		},
		{
			"turn/diff/updated/the newest file change has it, closed or not", inCodex + completed(`{"type":"fileChange","id":"e1","changes":[{"path":"a","kind":{"type":"add"},"diff":"x\n"}],"status":"completed"}`) +
				note("turn/diff/updated", `{"turnId":"u","diff":"diff --git a/a b/a\n"}`),
			`1:e1 file_change assistant closed [3-4] turn=1 apply_patch "a" kind=edit status=completed out="" at=a diff="diff --git a/a b/a\n"`,
		},
		{"error", inCodex + note("error", `{"error":{"message":"Reconnecting... 1/1"},"willRetry":true}`), `1:seq3 notice system closed [3-3] turn=1 "Reconnecting... 1/1"`},
		{"warning", inCodex + note("warning", `{"message":"careful"}`), `1:seq3 notice system closed [3-3] turn=1 "careful"`},
		{"guardianWarning", inCodex + note("guardianWarning", `{"message":"careful"}`), `1:seq3 notice system closed [3-3] turn=1 "careful"`},
		{"model/rerouted", inCodex + note("model/rerouted", `{"fromModel":"a","toModel":"b","reason":"x"}`), `1:seq3 notice system closed [3-3] turn=1 "The model was changed from a to b."`},
		{
			"everything else/nothing", inCodex + note("thread/status/changed", `{"status":{"type":"idle"}}`) + note("account/rateLimits/updated", `{}`) + note("configWarning", `{"summary":"x"}`) + note("something/new", `{"delta":"x"}`) + note("item/somethingNew", `{"itemId":"m1","delta":"x"}`),
			``,
		},
		{"requests/nothing", inCodex + "> {\"method\":\"item/commandExecution/requestApproval\",\"id\":0,\"params\":{\"itemId\":\"e1\",\"command\":\"ls\"}}\n", ``},
		{"our answers/nothing", inCodex + "> {\"id\":0,\"result\":{\"decision\":\"accept\"}}\n", ``},
		{"what is no object/nothing", inCodex + "> not JSON\n> {\"method\":\n> [1]\n", ``},
	}
}

// TestCodexExec has a row for each event of codex exec --json.
func TestCodexExec(t *testing.T) {
	t.Parallel()
	exec := func(lines ...string) string {
		return "run.executing {}\n> {\"type\":\"thread.started\",\"thread_id\":\"t1\"}\n> " + strings.Join(lines, "\n> ")
	}
	runRows(t, []row{
		{"thread.started, turn.started, turn.completed/nothing", exec(`{"type":"turn.started"}`, `{"type":"turn.completed","usage":{"input_tokens":1}}`), ``},
		{"agent_message", exec(`{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Done."}}`), `1:item_0 message assistant closed [3-3] "Done."`},
		{"reasoning", exec(`{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}`), `1:item_0 reasoning assistant closed [3-3] "hm"`},
		{
			"command_execution", exec(`{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"bash -lc ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}`,
				`{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"bash -lc ls","aggregated_output":"a\n","exit_code":2,"status":"failed"}}`),
			`1:item_1 tool assistant closed [3-4] shell "ls" kind=execute status=failed out="a\n" exit=2`,
		},
		{
			"file_change", exec(`{"type":"item.completed","item":{"id":"item_1","type":"file_change","changes":[{"path":"a.go","kind":"update"}],"status":"completed"}}`),
			`1:item_1 file_change assistant closed [3-3] apply_patch "a.go" kind=edit status=completed out="" at=a.go`,
		},
		{
			"mcp_tool_call", exec(`{"type":"item.completed","item":{"id":"item_1","type":"mcp_tool_call","server":"s","tool":"t","arguments":{},"result":null,"error":{"message":"no"},"status":"failed"}}`),
			`1:item_1 tool assistant closed [3-3] t "s/t" kind=mcp status=failed out="no" server=s`,
		},
		{"web_search", exec(`{"type":"item.completed","item":{"id":"item_1","type":"web_search","query":"q"}}`), `1:item_1 tool assistant closed [3-3] web_search "q" kind=search status=completed out=""`},
		{
			"todo_list", exec(`{"type":"item.started","item":{"id":"item_1","type":"todo_list","items":[{"text":"look","completed":false}]}}`,
				`{"type":"item.updated","item":{"id":"item_1","type":"todo_list","items":[{"text":"look","completed":true}]}}`),
			`1:item_1 plan assistant open [3-4] "- [x] look" (completed look)`,
		},
		{"error item", exec(`{"type":"item.completed","item":{"id":"item_1","type":"error","message":"careful"}}`), `1:item_1 notice system closed [3-3] "careful"`},
		{"error, turn.failed/no items", exec(`{"type":"error","message":"x"}`, `{"type":"turn.failed","error":{"message":"x"}}`), ``},
	})
}
