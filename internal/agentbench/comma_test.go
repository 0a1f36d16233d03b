//go:build agents

package agentbench

// A client of the comma daemon that runs a strategy with two real agent CLIs.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// told is a message to a client of the comma daemon.
type told struct {
	Type      string
	RequestID string `json:"requestId"`
	AgentName string `json:"agentName"`
	StepName  string `json:"stepName"`
	Model     string
	Text      string
	Result    json.RawMessage
	Resource  string
	Event     struct{ Type, ToolName, Output, Status string }
	Usage     struct{ PromptTokens, CompletionTokens int64 }
	Error     struct{ Message string }
	Code      string
	Message   string
}

// TestStrategy runs a strategy that first asks its user. Its coder requests permission to run a
// command, and its critic is another CLI.
func TestStrategy(t *testing.T) {
	t.Parallel()
	k := kinds()[1]
	c := companyOf(t, k, true, func(r Request) Reply {
		if reply, ok := Bookkeeping(r, Usage{}); ok {
			return reply
		}
		switch {
		case asks(r, "You are the critic."):
			return Reply{Text: "It is good.", Usage: Usage{Input: 30, Output: 3}}
		case r.Step() == 0:
			return Reply{Calls: []Call{{Run: "touch asked.txt && echo made"}}, Usage: Usage{Input: 10, Output: 5}}
		}
		return Reply{Text: "All done.", Usage: Usage{Input: 20, Cached: 4, Output: 7}}
	})
	c.ac("agent:new", c.dir, "--name", "Bea", "--role", "worker", "--provider", "claude", "--team", c.team)
	strategy, err := json.Marshal(object{
		"name": "Make and judge", "version": "1",
		"agents": object{
			"user":   object{"type": "user"},
			"coder":  object{"model": "openai/gpt-6.1-sol", "systemPrompt": "You are the coder.", "tools": []string{"run_command"}},
			"critic": object{"model": "anthropic/claude-sonnet-4-5", "systemPrompt": "You are the critic."},
		},
		"flow": object{"name": "Main", "type": "sequential", "steps": []object{{"agent": "user"}, {"agent": "coder"}, {"agent": "critic"}}},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "strategy.json"), strategy, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	conn := c.dialect("comma")
	send := func(message object) {
		t.Helper()
		text, err := json.Marshal(message)
		if err == nil {
			err = conn.Write(t.Context(), websocket.MessageText, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var outputs []string
	seen := map[string]bool{}
	send(object{"type": "prepare_run", "runId": "one", "strategyPath": "strategy.json"})
	for end := ""; end == ""; {
		_, text, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var m told
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		seen[m.Type+" "+m.Event.Type] = true
		switch m.Type {
		case "run_prepared":
			send(object{"type": "start_run", "runId": "one"})
		case "request_input":
			send(object{"type": "user_input", "runId": "one", "agentName": m.AgentName, "text": "make a file"})
		case "request_permission":
			if m.Resource != "touch asked.txt && echo made" || m.AgentName != "coder" {
				t.Errorf("%s", text)
			}
			send(object{"type": "permission_decision", "runId": "one", "permissionRequestId": m.RequestID, "decision": "allow"})
		case "agent_output":
			if outputs = append(outputs, m.AgentName+" by "+m.Model+": "+m.Text); m.Usage.PromptTokens == 0 || m.Usage.CompletionTokens == 0 {
				t.Errorf("no usage: %s", text)
			}
		case "strategy_completed", "strategy_error", "error":
			end = string(text)
			if m.Type != "strategy_completed" || string(m.Result) != `"It is good."` {
				t.Errorf("%s", text)
			}
		}
	}
	want := "coder by codex_app_server/gpt-6.1-sol: All done.\ncritic by claude/claude-sonnet-4-5: It is good."
	if got := strings.Join(outputs, "\n"); got != want {
		t.Errorf("%s", got)
	}
	for _, kind := range []string{"agent_streaming tool-call", "agent_streaming tool-result", "agent_streaming text", "agent_streaming done", "request_permission "} {
		if !seen[kind] {
			t.Errorf("no %s", kind)
		}
	}
	if _, err := os.Stat(filepath.Join(c.dir, "asked.txt")); err != nil {
		t.Error(err)
	}
}
