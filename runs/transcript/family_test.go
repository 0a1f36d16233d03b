package transcript

import (
	"strings"
	"testing"
)

func cutWord(text string) (first, rest string) {
	first, rest, _ = strings.Cut(text, " ")
	return first, rest
}

// TestFamilies has a row for each way to detect a family.
func TestFamilies(t *testing.T) {
	t.Parallel()
	runRows(t, []row{
		{"driver codex", "run.executing {\"driver\":\"codex\"}\n" + completed(`{"type":"agentMessage","id":"m","text":"Hi"}`), `1:m message assistant closed [2-2] "Hi"`},
		{"driver claude", "run.executing {\"driver\":\"claude\"}\n" + `> {"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Hi"}]}}`, `1:m#0 message assistant closed [2-2] "Hi"`},
		{"driver acp", inACP + chunkOfACP("agent_message_chunk", "m", "Hi"), `1:m message assistant open [3-3] turn=1 "Hi"`},
		{"mode codex_app_server", "run.executing {\"mode\":\"codex_app_server\"}\n" + completed(`{"type":"agentMessage","id":"m","text":"Hi"}`), `1:m message assistant closed [2-2] "Hi"`},
		{"no run.executing", completed(`{"type":"agentMessage","id":"m","text":"Hi"}`), `1:m message assistant closed [1-1] "Hi"`},
		{"method/codex app server", "run.executing {\"driver\":\"command\"}\n" + completed(`{"type":"agentMessage","id":"m","text":"Hi"}`), `1:m message assistant closed [2-2] "Hi"`},
		{"thread.started/codex exec", "run.executing {}\n" + `> {"type":"thread.started","thread_id":"t"}` + "\n" + `> {"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Hi"}}`, `1:i message assistant closed [3-3] "Hi"`},
		{"turn.started/codex exec", "run.executing {}\n" + `> {"type":"turn.started"}` + "\n" + `> {"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Hi"}}`, `1:i message assistant closed [3-3] "Hi"`},
		{"item.completed/codex exec", "run.executing {}\n" + `> {"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Hi"}}`, `1:i message assistant closed [2-2] "Hi"`},
		{"system/claude", "run.executing {}\n" + `> {"type":"system","subtype":"init"}` + "\n" + `> {"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Hi"}]}}`, `1:m#0 message assistant closed [3-3] "Hi"`},
		{"assistant/claude", "run.executing {}\n" + `> {"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Hi"}]}}`, `1:m#0 message assistant closed [2-2] "Hi"`},
		{"stream_event/claude", "run.executing {}\n" + `> {"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}` + "\n" + `> {"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Hi"}]}}`, `1:m#0 message assistant closed [3-3] "Hi"`},
		{"user/claude", "run.executing {}\n" + `> {"type":"user","message":{"content":"hello"},"uuid":"u"}`, `1:u message user closed [2-2] "hello"`},
		{"result/claude's json format", "run.executing {}\n" + `> {"type":"result","subtype":"success","is_error":false,"result":"Hi","session_id":"s"}`, `1:seq2 message assistant closed [2-2] "Hi"`},
		{"jsonrpc and session/update/acp", "run.executing {}\n" + chunkOfACP("agent_message_chunk", "m", "Hi"), `1:m message assistant open [2-2] "Hi"`},
		{"jsonrpc and an answer of an agent/acp", "run.executing {}\n" + `> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}` + "\n" + chunkOfACP("agent_message_chunk", "m", "Hi"), `1:m message assistant open [3-3] "Hi"`},
		{"jsonrpc of something else/text", "run.executing {}\n" + `> {"jsonrpc":"2.0","id":1,"result":{}}`, `1:seq2 message assistant open [2-2] "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"`},
		{"init/gemini stream", "run.executing {}\n" + `> {"type":"init","session_id":"s","model":"m"}` + "\n" + `> {"type":"message","role":"assistant","content":"Hi","delta":true}`, `1:seq3 message assistant open [3-3] "Hi"`},
		{"message/gemini stream", "run.executing {}\n" + `> {"type":"message","role":"assistant","content":"Hi","delta":true}`, `1:seq2 message assistant open [2-2] "Hi"`},
		{"sessionID/opencode", "run.executing {}\n" + `> {"type":"text","sessionID":"s","part":{"id":"p","text":"Hi"}}`, `1:p message assistant closed [2-2] "Hi"`},
		{
			"a whole output with response/one message", "run.executing {}\n> {\n>   \"session_id\": \"s\",\n>   \"response\": \"Hi {you}\",\n>   \"stats\": {\n>   }\n> }",
			`1:seq7 message assistant closed [7-7] "Hi {you}"`,
		},
		{"a whole output on one line", "run.executing {}\n" + `> {"response":"Hi","stats":{}}`, `1:seq2 message assistant closed [2-2] "Hi"`},
		{
			"a whole output behind text", "run.executing {}\n> Loaded cached credentials.\n> {\n> \"response\": \"Hi\"\n> }",
			"1:seq2 message assistant closed [2-5] \"Loaded cached credentials.\\n\"\n1:seq5 message assistant closed [5-5] \"Hi\"",
		},
		{
			"what begins like one/text", "run.executing {}\n> {\n> int x;\n> }\n> {\n> \"other\": 1\n> }\n> done",
			`1:seq3 message assistant open [3-8] "{\nint x;\n}\n{\n\"other\": 1\n}\ndone\n"`,
		},
		{
			"what ends within one/text", "run.executing {}\n> {\n> \"response\": \"Hi\"\nrun.ended {}",
			"1:seq4 message assistant closed [4-4] \"{\\n\\\"response\\\": \\\"Hi\\\"\\n\"\nev:evt_4 notice system closed [4-4] \"The run ended.\"",
		},
		{"text/one message", "run.executing {\"driver\":\"command\"}\n> building\n> {\"some\":\"json\"}\n> done", `1:seq2 message assistant open [2-4] "building\n{\"some\":\"json\"}\ndone\n"`},
		{
			"text/of a known family: nothing", inCodex + "> not JSON\n",
			``,
		},
		{
			"text/before the first message of an agent", "run.executing {}\n> hello\n" + `> {"type":"thread.started","thread_id":"t"}`,
			`1:seq2 message assistant closed [2-3] "hello\n"`,
		},
		{
			"gemini stream/tools", "run.executing {}\n" + `> {"type":"init","session_id":"s"}` + "\n" + `> {"type":"tool_use","tool_name":"run_shell_command","tool_id":"t1","parameters":{"command":"ls"}}` + "\n" +
				`> {"type":"tool_use","tool_name":"write_file","tool_id":"t2","parameters":{"file_path":"a"}}` + "\n" + `> {"type":"tool_result","tool_id":"t1","status":"success","output":"a"}` + "\n" + `> {"type":"tool_result","tool_id":"t2","status":"error","error":{"message":"no"}}` + "\n" +
				`> {"type":"error","severity":"warning","message":"careful"}` + "\n" + `> {"type":"message","role":"user","content":"hello"}` + "\n" + `> {"type":"result","status":"success","stats":{}}`,
			`1:t1 tool assistant closed [3-5] run_shell_command "ls" kind=execute status=completed out="a"
			1:t2 file_change assistant closed [4-6] write_file "write_file a" kind=edit status=failed out="no" at=a
			1:seq7 notice system closed [7-7] "careful"
			1:seq8 message user closed [8-8] "hello"`,
		},
		{
			"opencode/events", "run.executing {}\n" + `> {"type":"step_start","sessionID":"s","part":{"id":"p0"}}` + "\n" + `> {"type":"reasoning","sessionID":"s","part":{"id":"p1","text":"hm"}}` + "\n" +
				`> {"type":"tool_use","sessionID":"s","part":{"id":"p2","callID":"c","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a","metadata":{"exit":1}}}}` + "\n" +
				`> {"type":"tool_use","sessionID":"s","part":{"id":"p3","callID":"c","tool":"edit","state":{"status":"error","input":{"filePath":"a"},"error":"no"}}}` + "\n" + `> {"type":"error","sessionID":"s","error":{"name":"X","data":{"message":"bad"}}}`,
			`1:p1 reasoning assistant closed [3-3] "hm"
			1:p2 tool assistant closed [4-4] bash "ls" kind=execute status=completed out="a" exit=1
			1:p3 file_change assistant closed [5-5] edit "edit" kind=edit status=failed out="no" at=a
			1:seq6 notice system closed [6-6] "bad"`,
		},
	})
}
