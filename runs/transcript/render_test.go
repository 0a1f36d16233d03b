package transcript

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/runs/interaction"
)

// rendered returns the text form of a log.
func rendered(t *testing.T, give string) string {
	t.Helper()
	var b strings.Builder
	for _, i := range Ordered(foldOf(t, give).Items()) {
		b.WriteString(Render(i))
	}
	return b.String()
}

func TestRender(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ give, want string }{
		"message of a person":   {`human run.turn_started {"turn":1,"text":"one\ntwo"}`, "» you: one\n  two\n"},
		"message of an agent":   {`agent_B run.turn_started {"turn":1,"text":"one"}`, "» agent_B: one\n"},
		"a text that waits":     {`human run.steer_queued {"steer_id":"s","text":"one"}`, "» you (waiting): one\n"},
		"a text that never got": {"human run.steer_queued {\"steer_id\":\"s\",\"text\":\"one\"}\nrun.steer_discarded {\"steer_id\":\"s\",\"reason\":\"stopped\"}", "» you (not delivered: stopped): one\n"},
		"text of the agent":     {inCodex + completed(`{"type":"agentMessage","id":"m","text":"a\n\nb\n"}`), "« a\n  \n  b\n"},
		"thought":               {inCodex + completed(`{"type":"reasoning","id":"m","summary":["hm"]}`), "· hm\n"},
		"command":               {inCodex + completed(`{"type":"commandExecution","id":"e","command":"ls","status":"completed","exitCode":0,"aggregatedOutput":"a\nb\n"}`), "$ ls\n  a\n  b\n"},
		"command that failed":   {inCodex + completed(`{"type":"commandExecution","id":"e","command":"ls","status":"failed","exitCode":2,"aggregatedOutput":""}`), "$ ls [exit 2]\n"},
		"command at work":       {inCodex + started(`{"type":"commandExecution","id":"e","command":"ls","status":"inProgress"}`), "$ ls [in_progress]\n"},
		"long output":           {inCodex + completed(`{"type":"commandExecution","id":"e","command":"ls","status":"completed","exitCode":0,"aggregatedOutput":"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"}`), "$ ls\n  …\n  3\n  4\n  5\n  6\n  7\n  8\n  9\n  10\n  11\n  12\n"},
		"another tool":          {inCodex + completed(`{"type":"mcpToolCall","id":"e","server":"s","tool":"t","status":"completed","result":"x"}`), "$ s/t\n"},
		"file":                  {inCodex + completed(`{"type":"fileChange","id":"p","changes":[{"path":"a.go","kind":{"type":"update"},"diff":"@@ -1,2 +1,4 @@\n-x\n+y\n+z\n+u\n b\n"}],"status":"completed"}`), "± a.go +3 −1\n"},
		"file that was refused": {inCodex + completed(`{"type":"fileChange","id":"p","changes":[{"path":"a.go"}],"status":"declined"}`), "± a.go [declined]\n"},
		"plan":                  {inCodex + "> {\"method\":\"turn/plan/updated\",\"params\":{\"turnId\":\"u\",\"plan\":[{\"step\":\"a\",\"status\":\"completed\"},{\"step\":\"b\",\"status\":\"inProgress\"},{\"step\":\"c\",\"status\":\"pending\"}]}}", "☑ a\n☐ b …\n☐ c\n"},
		"plan as text":          {inCodex + completed(`{"type":"plan","id":"p","text":"1. a\n2. b"}`), "☐ 1. a\n  2. b\n"},
		"question":              {`agent_A interaction.requested {"interaction_id":"i","kind":"question","title":"Which?"}`, "? Which?\n"},
		"allowed":               {"agent_A interaction.requested {\"interaction_id\":\"i\",\"kind\":\"permission\",\"title\":\"ls\"}\ninteraction.resolved {\"interaction_id\":\"i\",\"state\":\"allowed\",\"by\":\"human\",\"scope\":\"once\"}", "? ls\n✓ allowed by human\n"},
		"allowed for long":      {"agent_A interaction.requested {\"interaction_id\":\"i\",\"kind\":\"permission\",\"title\":\"ls\"}\ninteraction.resolved {\"interaction_id\":\"i\",\"state\":\"allowed\",\"by\":\"human\",\"scope\":\"session\"}", "? ls\n✓ allowed by human for this session\n"},
		"denied":                {"agent_A interaction.requested {\"interaction_id\":\"i\",\"kind\":\"permission\",\"title\":\"ls\"}\ninteraction.resolved {\"interaction_id\":\"i\",\"state\":\"denied\",\"by\":\"human\",\"text\":\"not now\"}", "? ls\n✗ denied by human: not now\n"},
		"answered":              {"agent_A interaction.requested {\"interaction_id\":\"i\",\"kind\":\"question\",\"title\":\"Which?\",\"questions\":[{\"question_id\":\"q\"}]}\ninteraction.resolved {\"interaction_id\":\"i\",\"state\":\"answered\",\"by\":\"human\",\"answers\":{\"q\":[\"Blue\",\"Red\"]}}", "? Which?\n✓ answered by human: Blue, Red\n"},
		"timed out":             {"agent_A interaction.requested {\"interaction_id\":\"i\",\"kind\":\"question\",\"title\":\"Which?\"}\ninteraction.resolved {\"interaction_id\":\"i\",\"state\":\"timed_out\",\"by\":\"system\"}", "? Which?\n✗ nobody answered in time\n"},
		"cancelled":             {"agent_A interaction.requested {\"interaction_id\":\"i\",\"kind\":\"question\",\"title\":\"Which?\"}\ninteraction.resolved {\"interaction_id\":\"i\",\"state\":\"cancelled\",\"reason\":\"stopped\"}", "? Which?\n✗ cancelled (stopped)\n"},
		"notice":                {`run.ended {}`, "! The run ended.\n"},
		"usage":                 {`usage.reported {"turn":1,"total_tokens":2280,"cost_usd":0.0113}`, "= 2,280 tokens, $0.0113\n"},
		"usage without a cost":  {`usage.reported {"turn":1,"total_tokens":1234567}`, "= 1,234,567 tokens\n"},
		"usage of round cents":  {`usage.reported {"turn":1,"total_tokens":7,"cost_usd":1.5}`, "= 7 tokens, $1.50\n"},
	} {
		if diff := cmp.Diff(c.want, rendered(t, c.give)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestOrdered checks that people's texts are placed at their delivery.
func TestOrdered(t *testing.T) {
	t.Parallel()
	got := rendered(t, `
		run.executing {"driver":"acp"}
		human run.turn_started {"turn":1,"text":"one"}
		human run.steer_queued {"steer_id":"s1","text":"two"}
		human run.steer_queued {"steer_id":"s2","text":"later"}
		> {"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"first"}}}}
		run.turn_ended {"turn":1,"status":"completed"}
		run.turn_started {"turn":2,"cause":"steer","text":"","steer_ids":["s1"]}
		> {"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"second"}}}}
		run.turn_ended {"turn":2,"status":"completed"}`)
	if want := "» you: one\n« first\n» you: two\n« second\n» you (waiting): later\n"; got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestNothingActsOnATerminal checks that escape sequences of agents are escaped, so that they
// do not act on a terminal.
func TestNothingActsOnATerminal(t *testing.T) {
	t.Parallel()
	for _, i := range []*Item{
		{Kind: KindMessage, Role: RoleAssistant, Text: "\x1b[2J"}, {Kind: KindMessage, Role: RoleUser, Actor: "\x1b[2J", Text: "x"},
		{Kind: KindTool, Tool: &Tool{Kind: "execute", Title: "\x1b[2J", OutputTail: "\x1b[2J"}},
		{Kind: KindFileChange, Tool: &Tool{Locations: []Location{{Path: "\x1b[2J"}}}}, {Kind: KindPlan, Plan: []Step{{Text: "\x1b[2J"}}},
		{Kind: KindPermission, Interaction: &interaction.Record{Request: interaction.Request{Title: "\x1b[2J"}, State: interaction.Denied, Outcome: interaction.Outcome{By: "\x1b[2J"}}},
	} {
		if text := Render(i); strings.Contains(text, "\x1b") || !strings.Contains(text, `\x1b[2J`) {
			t.Errorf("%s: %q", i.Kind, text)
		}
	}
}
