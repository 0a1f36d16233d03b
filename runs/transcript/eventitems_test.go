package transcript

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOurEvents has a row for each of our own events.
func TestOurEvents(t *testing.T) {
	t.Parallel()
	runRows(t, []row{
		{
			"run.turn_started/its text is a message of who said it",
			`run.executing {"driver":"codex"}
			human run.turn_started {"turn":1,"cause":"launch","text":"build it","text_bytes":8,"steer_ids":[]}`,
			`ev:evt_2 message user closed [2-2] turn=1 by=human "build it"`,
		},
		{
			"run.turn_started/a text that was cut",
			`human run.turn_started {"turn":1,"cause":"launch","text":"build","text_bytes":100000,"truncated":true}`,
			`ev:evt_1 message user closed [1-1] turn=1 by=human truncated=true "build"`,
		},
		{
			"run.turn_started/blank text makes no item and closes its steers in their order",
			`run.executing {"driver":"acp"}
			human run.turn_started {"turn":1,"text":"one"}
			human run.steer_queued {"steer_id":"steer_a","text":"two","delivery":"next_turn"}
			agent_B run.steer_queued {"steer_id":"steer_b","text":"three","delivery":"next_turn"}
			run.turn_ended {"turn":1,"status":"completed"}
			human run.turn_started {"turn":2,"cause":"steer","text":"","steer_ids":["steer_b","steer_a"]}`,
			`ev:evt_2 message user closed [2-2] turn=1 by=human "one"
			ev:evt_3 message user closed [3-6] turn=2 by=human "two"
			ev:evt_4 message user closed [4-6] turn=2 by=agent_B "three"`,
		},
		{
			"run.turn_started/display_text",
			`human run.turn_started {"turn":1,"text":"write the file AGENTS.md …","text_bytes":28,"display_text":"/init","display_meta":{"kind":"command"}}`,
			`ev:evt_1 message user closed [1-1] turn=1 by=human prompt_bytes=28 meta={"kind":"command"} "/init"`,
		},
		{
			"run.steer_queued/waits",
			`human run.steer_queued {"steer_id":"steer_a","text":"faster","delivery":"next_launch"}
			run.ended {"exit_code":0}`,
			`ev:evt_1 message user open [1-1] by=human "faster"
			ev:evt_2 notice system closed [2-2] "The run ended."`,
		},
		{
			"run.steer_queued/display_text",
			`human run.steer_queued {"steer_id":"steer_a","text":"a long one","text_bytes":10,"display_text":"short","display_meta":{"a":1}}`,
			`ev:evt_1 message user open [1-1] by=human prompt_bytes=10 meta={"a":1} "short"`,
		},
		{
			"run.steer_applied/mid_turn closes it in its turn",
			`human run.turn_started {"turn":1,"text":"one"}
			human run.steer_queued {"steer_id":"steer_a","text":"two"}
			run.steer_applied {"steer_id":"steer_a","turn":1,"how":"mid_turn"}`,
			`ev:evt_1 message user closed [1-1] turn=1 by=human "one"
			ev:evt_2 message user closed [2-3] turn=1 by=human "two"`,
		},
		{
			"run.steer_applied/next_turn leaves it to the turn that names it",
			`human run.steer_queued {"steer_id":"steer_a","text":"two"}
			run.steer_applied {"steer_id":"steer_a","turn":2,"how":"next_turn"}`,
			`ev:evt_1 message user open [1-1] by=human "two"`,
		},
		{
			"run.steer_discarded/closes it with why",
			`human run.steer_queued {"steer_id":"steer_a","text":"two"}
			run.steer_discarded {"steer_id":"steer_a","reason":"stopped"}`,
			`ev:evt_1 message user closed [1-2] by=human note="not delivered: stopped" "two"`,
		},
		{
			"run.plan_cleared/the newest plan is empty",
			`run.executing {"driver":"codex"}
			run.turn_started {"turn":1,"text":"x"}
			> {"method":"turn/plan/updated","params":{"turnId":"t1","plan":[{"step":"look","status":"completed"}]}}
			run.turn_ended {"turn":1,"status":"completed"}
			human run.plan_cleared {}`,
			`ev:evt_2 message user closed [2-2] turn=1 "x"
			1:turn-t1-plan plan assistant closed [3-5] turn=1 plan=[]`,
		},
		{
			"interaction.requested/permission waits for an item, named by the agent's id",
			`run.executing {"driver":"codex"}
			run.turn_started {"turn":1,"text":"x"}
			> {"method":"item/started","params":{"item":{"type":"commandExecution","id":"exec-1","command":"ls","status":"inProgress"}}}
			agent_A interaction.requested {"interaction_id":"int_1","kind":"permission","turn":1,"title":"ls","prompt":"May it?","item_id":"exec-1","expires_at":null,"on_timeout":"deny"}`,
			`ev:evt_2 message user closed [2-2] turn=1 "x"
			1:exec-1 tool assistant open [3-3] turn=1 shell "ls" kind=execute status=in_progress out=""
			int_1 permission assistant open [4-4] turn=1 int_1 open "ls" waits=1:exec-1`,
		},
		{
			"interaction.requested/plan is a permission",
			`agent_A interaction.requested {"interaction_id":"int_1","kind":"plan","turn":2,"title":"The plan"}`,
			`int_1 permission assistant open [1-1] turn=2 int_1 open "The plan"`,
		},
		{
			"interaction.requested/question",
			`agent_A interaction.requested {"interaction_id":"int_1","kind":"question","title":"Which?"}`,
			`int_1 question assistant open [1-1] int_1 open "Which?"`,
		},
		{
			"interaction.requested/input is a question",
			`agent_A interaction.requested {"interaction_id":"int_1","kind":"input","title":"Say"}`,
			`int_1 question assistant open [1-1] int_1 open "Say"`,
		},
		{
			"interaction.resolved/closes it",
			`agent_A interaction.requested {"interaction_id":"int_1","kind":"question","title":"Which?"}
			human interaction.resolved {"interaction_id":"int_1","kind":"question","state":"answered","by":"human","by_role":"human","text":"Blue","reason":"decision"}`,
			`int_1 question assistant closed [1-2] int_1 answered "Which?" answered=human/decision`,
		},
		{
			"interaction.resolved/a refused permission declines the tool that is pending",
			`run.executing {"driver":"acp"}
			run.turn_started {"turn":1,"text":"x"}
			> {"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c1","status":"pending","title":"touch a","kind":"execute"},"options":[]}}
			agent_A interaction.requested {"interaction_id":"int_1","kind":"permission","turn":1,"title":"touch a","item_id":"c1"}
			human interaction.resolved {"interaction_id":"int_1","state":"denied","by":"human","reason":"decision"}
			> {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed"}}}`,
			`ev:evt_2 message user closed [2-2] turn=1 "x"
			1:c1 tool assistant closed [3-5] turn=1 execute "touch a" kind=execute status=declined out=""
			int_1 permission assistant closed [4-5] turn=1 int_1 denied "touch a" waits=1:c1 answered=human/decision`,
		},
		{
			"interaction.resolved/a cancelled permission declines the tool that is pending",
			`run.executing {"driver":"acp"}
			run.turn_started {"turn":1,"text":"x"}
			> {"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c1","title":"touch a","kind":"execute"}}}
			agent_A interaction.requested {"interaction_id":"int_1","kind":"permission","turn":1,"title":"touch a","item_id":"1:c1"}
			interaction.resolved {"interaction_id":"int_1","state":"cancelled","by":"system","reason":"interrupted"}`,
			`ev:evt_2 message user closed [2-2] turn=1 "x"
			1:c1 tool assistant closed [3-5] turn=1 execute "touch a" kind=execute status=declined out=""
			int_1 permission assistant closed [4-5] turn=1 int_1 cancelled "touch a" waits=1:c1 answered=system/interrupted`,
		},
		{
			"interaction.resolved/an allowed permission leaves its tool alone",
			`run.executing {"driver":"acp"}
			run.turn_started {"turn":1,"text":"x"}
			> {"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c1","title":"touch a","kind":"execute"}}}
			agent_A interaction.requested {"interaction_id":"int_1","kind":"permission","turn":1,"title":"touch a","item_id":"c1"}
			human interaction.resolved {"interaction_id":"int_1","state":"allowed","by":"human","reason":"decision"}`,
			`ev:evt_2 message user closed [2-2] turn=1 "x"
			1:c1 tool assistant open [3-3] turn=1 execute "touch a" kind=execute status=pending out=""
			int_1 permission assistant closed [4-5] turn=1 int_1 allowed "touch a" waits=1:c1 answered=human/decision`,
		},
		{
			"run.turn_ended/completed says nothing and closes what was said",
			`run.executing {"driver":"codex"}
			run.turn_started {"turn":1,"text":"x"}
			> {"method":"item/agentMessage/delta","params":{"itemId":"m1","delta":"half"}}
			run.turn_ended {"turn":1,"status":"completed","duration_ms":5}`,
			`ev:evt_2 message user closed [2-2] turn=1 "x"
			1:m1 message assistant closed [3-4] turn=1 "half"`,
		},
		{
			"run.turn_ended/interrupted",
			`run.executing {"driver":"codex"}
			run.turn_started {"turn":1,"text":"x"}
			> {"method":"item/started","params":{"item":{"type":"commandExecution","id":"exec-1","command":"sleep 9","status":"inProgress"}}}
			run.turn_ended {"turn":1,"status":"interrupted"}
			> {"method":"item/completed","params":{"item":{"type":"commandExecution","id":"exec-1","command":"sleep 9","status":"failed"}}}`,
			`ev:evt_2 message user closed [2-2] turn=1 "x"
			1:exec-1 tool assistant closed [3-4] turn=1 shell "sleep 9" kind=execute status=cancelled out=""
			ev:evt_4 notice system closed [4-4] turn=1 "Turn interrupted."`,
		},
		{
			"run.turn_ended/failed with its error",
			`run.turn_started {"turn":1,"text":"x"}
			run.turn_ended {"turn":1,"status":"failed","error":"401 Unauthorized","error_kind":"auth"}`,
			`ev:evt_1 message user closed [1-1] turn=1 "x"
			ev:evt_2 notice system closed [2-2] turn=1 "Turn failed: 401 Unauthorized"`,
		},
		{
			"usage.reported/with a turn: less what earlier turns used",
			`run.executing {"driver":"claude"}
			run.turn_started {"turn":1,"text":"x"}
			usage.reported {"turn":1,"total_tokens":50,"input_tokens":40,"output_tokens":10}
			usage.reported {"turn":1,"total_tokens":100,"input_tokens":80,"cache_write_tokens":5,"output_tokens":20,"cost_usd":0.25}
			run.turn_ended {"turn":1,"status":"completed"}
			run.turn_started {"turn":2,"text":"y"}
			usage.reported {"turn":2,"total_tokens":160,"input_tokens":120,"cache_write_tokens":12,"output_tokens":30,"reasoning_output_tokens":10,"cost_usd":0.75}
			run.turn_ended {"turn":2,"status":"completed"}
			run.ended {}
			run.continued {"session":2}
			run.executing {"driver":"claude"}
			run.turn_started {"turn":3,"text":"z"}
			usage.reported {"turn":3,"total_tokens":7}`,
			`ev:evt_2 message user closed [2-2] turn=1 "x"
			ev:evt_3 usage system closed [3-5] turn=1 {"input_tokens":80,"cache_write_tokens":5,"output_tokens":20,"total_tokens":100,"cost_usd":0.25}
			ev:evt_6 message user closed [6-6] turn=2 "y"
			ev:evt_7 usage system closed [7-8] turn=2 {"input_tokens":40,"cache_write_tokens":7,"output_tokens":10,"reasoning_output_tokens":10,"total_tokens":60,"cost_usd":0.5}
			ev:evt_9 notice system closed [9-9] "The run ended."
			ev:evt_10 notice system closed [10-10] "The run goes on in session 2."
			ev:evt_12 message user closed [12-12] turn=3 "z"
			ev:evt_13 usage system open [13-13] turn=3 {"total_tokens":7}`,
		},
		{
			"usage.reported/without a turn",
			`usage.reported {"total_tokens":50}`,
			``,
		},
		{
			"run.continued",
			`human run.continued {"session_ref":"local_run_1_2","session":2,"from_status":"ended"}`,
			`ev:evt_1 notice system closed [1-1] by=human "The run goes on in session 2."`,
		},
		{
			"run.continued/of a workflow",
			`human run.continued {"from_status":"failed"}`,
			`ev:evt_1 notice system closed [1-1] by=human "The run goes on."`,
		},
		{"run.ended", `run.ended {"exit_code":0,"signal":null}`, `ev:evt_1 notice system closed [1-1] "The run ended."`},
		{"run.failed/with an error", `run.failed {"exit_code":1,"error":"no such model"}`, `ev:evt_1 notice system closed [1-1] "The run failed: no such model"`},
		{"run.failed/with an exit code", `run.failed {"exit_code":3}`, `ev:evt_1 notice system closed [1-1] "The run failed (exit code 3)."`},
		{"run.stopped/by a signal", `run.stopped {"exit_code":null,"signal":"SIGKILL"}`, `ev:evt_1 notice system closed [1-1] "The run stopped (SIGKILL)."`},
		{
			"run.policy_changed",
			`human run.policy_changed {"by":"human","before":{"mode":"default"},"after":{"mode":"plan","permission_level":"patch","rules":[{}]},"cause":"set"}`,
			`ev:evt_1 notice system closed [1-1] by=human "The policy was changed: mode plan, level patch, 1 rule."`,
		},
		{"run.interrupt_requested", `human run.interrupt_requested {"turn":1}`, `ev:evt_1 notice system closed [1-1] by=human "An interrupt was asked for."`},
		{"run.compact_requested", `human run.compact_requested {"how":"provider"}`, `ev:evt_1 notice system closed [1-1] by=human "The conversation is to be compacted (provider)."`},
		{"run.compacted", `run.compacted {"how":"digest","ok":true}`, `ev:evt_1 notice system closed [1-1] "The conversation was compacted (digest)."`},
		{"run.compacted/failed", `run.compacted {"how":"provider","ok":false,"error":"no"}`, `ev:evt_1 notice system closed [1-1] "The conversation could not be compacted: no"`},
		{"run.attached", `human run.attached {"attachment_id":"att_1","name":"a.png","size":12}`, `ev:evt_1 notice system closed [1-1] by=human "a.png was attached (12 bytes)."`},
		{"run.notice", `run.notice {"message":"The agent does not take the mode plan: no"}`, `ev:evt_1 notice system closed [1-1] "The agent does not take the mode plan: no"`},
		{"budget.exceeded", `budget.exceeded {"scope":"run","metric":"tokens","severity":"hard"}`, `ev:evt_1 notice system closed [1-1] "The budget of the run was exceeded: tokens."`},
		{
			"run.executing/begins a new session, and another execution of it",
			`run.executing {"driver":"claude"}
			> {"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"one"}]}}
			run.executing {"driver":"claude"}
			> {"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"two"}]}}
			run.ended {}
			run.continued {"session":2}
			run.executing {"driver":"claude"}
			run.executing {"driver":"claude"}
			> {"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"three"}]}}`,
			`1:m#0 message assistant closed [2-2] "one"
			1.2:m#0 message assistant closed [4-4] "two"
			ev:evt_5 notice system closed [5-5] "The run ended."
			ev:evt_6 notice system closed [6-6] "The run goes on in session 2."
			2:m#0 message assistant closed [9-9] "three"`,
		},
		{
			"provider.raw stderr/adjoining lines are one notice, without escapes and logs",
			`run.executing {}
			2> \e[31mone\e[0m
			2> {"level":"info"}
			2> two
			> hello
			2> three`,
			`1:seq2 notice system closed [2-5] "one\ntwo"
			1:seq5 message assistant open [5-5] "hello\n"
			1:seq6 notice system open [6-6] "three"`,
		},
		{
			"others/nothing",
			`run.started {"agent_id":"a"}
			policy.decision {"allowed":true}
			permission.judged {"request_id":"1"}
			interaction.undelivered {"interaction_id":"int_1","error":"x"}
			run.turn_accepted {"turn":1}
			agent.started {"driver":"codex"}
			comment.added {"body":"x"}
			something.new {"text":"y"}`,
			``,
		},
		{
			"the echo/makes no item where our event has the text",
			`run.executing {"driver":"codex"}
			human run.turn_started {"turn":1,"text":"hello"}
			> {"method":"item/completed","params":{"item":{"type":"userMessage","id":"u1","content":[{"type":"text","text":"hello"}]}}}`,
			`ev:evt_2 message user closed [2-2] turn=1 by=human "hello"`,
		},
		{
			"the echo/makes an item where it is all there is",
			`run.executing {"mode":"codex_app_server"}
			> {"method":"item/completed","params":{"item":{"type":"userMessage","id":"u1","content":[{"type":"text","text":"hello"}]}}}`,
			`1:u1 message user closed [2-2] "hello"`,
		},
		{
			"the end/cancels tools and closes the rest as it is",
			`run.executing {"driver":"codex"}
			run.turn_started {"turn":1,"text":"x"}
			> {"method":"item/agentMessage/delta","params":{"itemId":"m1","delta":"half"}}
			> {"method":"item/started","params":{"item":{"type":"commandExecution","id":"exec-1","command":"sleep 9","status":"inProgress"}}}
			run.failed {"error":"killed"}`,
			`ev:evt_2 message user closed [2-2] turn=1 "x"
			1:m1 message assistant closed [3-5] turn=1 "half"
			1:exec-1 tool assistant closed [4-5] turn=1 shell "sleep 9" kind=execute status=cancelled out=""
			ev:evt_5 notice system closed [5-5] "The run failed: killed"`,
		},
	})
}

// TestState follows the state of a run through its log.
func TestState(t *testing.T) {
	t.Parallel()
	f := NewFold("proj_1")
	var got []State
	for i, e := range scripted(t, `
		run.started {}
		run.executing {"driver":"codex"}
		agent.started {"driver":"codex"}
		human run.turn_started {"turn":1,"text":"x"}
		> {"method":"item/agentMessage/delta","params":{"itemId":"m1","delta":"half"}}
		agent_A interaction.requested {"interaction_id":"int_1","kind":"permission","title":"a"}
		agent_A interaction.requested {"interaction_id":"int_2","kind":"question","title":"b"}
		interaction.resolved {"interaction_id":"int_1","state":"allowed"}
		interaction.resolved {"interaction_id":"int_2","state":"answered"}
		run.turn_ended {"turn":1,"status":"completed"}
		run.ended {}
		run.continued {"session":2,"session_ref":"local_run_1_2"}`) {
		for _, c := range f.Apply(int64(i+1), e) {
			if c.Op == Status {
				got = append(got, *c.State)
			}
		}
	}
	ref := "local_run_1"
	want := []State{
		{"running", "starting", 0, ref, []string{}},
		{"running", "idle", 0, ref, []string{}},
		{"running", "busy", 1, ref, []string{}},
		{"running", "waiting_permission", 1, ref, []string{"int_1"}},
		{"running", "waiting_permission", 1, ref, []string{"int_1", "int_2"}},
		{"running", "waiting_question", 1, ref, []string{"int_2"}},
		{"running", "busy", 1, ref, []string{}},
		{"running", "idle", 1, ref, []string{}},
		{"ended", "", 1, ref, []string{}},
		{"running", "", 1, "local_run_1_2", []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(f.State().OpenInteractions, []string{}) {
		t.Error(diff)
	}
}
