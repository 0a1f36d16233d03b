//go:build agents

package agentbench

// ac's own MCP tools with the real agents. The driver of each agent passes it the server. The
// agent starts it, asks who it is, and asks a person, whose answer reaches its model.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// mcpCall returns a call of one of ac's tools.
func mcpCall(r Request, tool string, arguments object) Call { return toolOf(r, "ac", tool, arguments) }

// toolOf returns a call of an MCP server's tool, by the agent's name for the tool.
func toolOf(r Request, server, tool string, arguments object) Call {
	if slices.Contains(r.Tools, "exec") { // codex runs a script that calls its tools
		text, _ := json.Marshal(arguments)
		return Call{Name: "exec", Args: fmt.Sprintf("text(JSON.stringify(await tools.mcp__%s__%s(%s)))", server, tool, text)}
	}
	for _, name := range r.Tools {
		if strings.HasSuffix(name, tool) && strings.Contains(name, server) {
			return Call{Name: name, Args: arguments}
		}
	}
	if r.API == Messages { // claude offers such tools only after the model searches for them
		return Call{Name: "mcp__" + server + "__" + tool, Args: arguments}
	}
	return Call{Name: tool, Space: "mcp__" + server, Args: arguments}
}

// TestToolsOfAC checks that the tools work at the lowest permission level. The first
// interaction is the question to the person, not a request for permission.
func TestToolsOfAC(t *testing.T) {
	t.Parallel()
	eachLive(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			switch r.Step() {
			case 0:
				return Reply{Calls: []Call{mcpCall(r, "who_am_i", object{})}}
			case 1:
				return Reply{Calls: []Call{mcpCall(r, "ask_human", object{"question": "Which host?", "wait_ms": 40000})}}
			}
			return Reply{Text: "done"}
		}).asking()
		r := c.speak("Who are you?", object{"mcp": true, "permission_level": "read-only"})
		asked := r.await("interaction.requested", nil)
		var shown struct {
			Kind   string `json:"kind"`
			Title  string `json:"title"`
			Tool   string `json:"tool"`
			Prompt string `json:"prompt"`
		}
		r.act("interaction.get", object{"interaction_id": asked.Payload.InteractionID}, &shown)
		if shown.Kind != "input" || shown.Title != "Which host?" || shown.Tool != "ask_human" {
			t.Fatalf("%+v\n%s", shown, r.log())
		}
		r.act("interaction.respond", object{"interaction_id": asked.Payload.InteractionID, "text": "staging-7"}, nil)
		p := r.end()
		told := ""
		for _, r := range c.model.Requests() {
			told += strings.Join(r.Results, "\n")
		}
		if p.Status != "ended" || !strings.Contains(told, r.id) || !strings.Contains(told, "staging-7") {
			t.Errorf("%+v\nthe model heard %.3000s\n%s", p, told, r.log())
		}
	})
}
