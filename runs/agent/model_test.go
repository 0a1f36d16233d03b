package agent

import (
	"slices"
	"testing"
)

// TestModels checks that usage names the model. Each protocol reports it in a way of its own.
func TestModels(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"claude-allow": "claude-opus-5-5", "claude-interrupt": "claude-opus-5-5", "claude-steer-queue": "claude-opus-5-5",
		"codex-approve": "gpt-6.1-sol", "codex-interrupt": "gpt-6.1-sol",
		"acp-gemini-allow": "gemini-3.8-flash", "acp-opencode-allow": "stub/stub-model",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h *stage
			switch name[:3] {
			case "cla":
				h = greeted(t, Start{})
				h.playClaude(claudeFrames(t, name))
			case "cod":
				h = newStage(t, Codex(), Start{})
				h.play(recording(t, name), codexActs(h))
			default:
				h = newStage(t, ACP(), Start{})
				h.play(recording(t, name), acpActs(h))
			}
			if len(h.models) == 0 || slices.ContainsFunc(h.models, func(m string) bool { return m != want }) {
				t.Errorf("models %q, want all to be %s", h.models, want)
			}
		})
	}
}

// TestModelOfClaude checks that the model is that of claude's newest message, except for
// messages that a sub-agent made or claude synthesized. Without a message, it is the model that
// the turn began with.
func TestModelOfClaude(t *testing.T) {
	t.Parallel()
	begun := `{"type":"system","subtype":"init","model":"opus"}`
	said := func(parent, model string) string {
		return `{"type":"assistant","parent_tool_use_id":` + parent + `,"message":{"id":"m","model":` + model + `,"usage":{"input_tokens":1}}}`
	}
	ended := `{"type":"result","usage":{"input_tokens":1,"output_tokens":1}}`
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"begun":     {[]string{begun}, "opus"},
		"fallback":  {[]string{begun, said("null", `"sonnet"`)}, "sonnet"},
		"sub-agent": {[]string{begun, said("null", `"opus"`), said(`"t"`, `"haiku"`)}, "opus"},
		"synthetic": {[]string{begun, said("null", `"<synthetic>"`)}, "opus"},
		"odd":       {[]string{begun, said("null", `7`)}, "opus"},
		"unknown":   {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := greeted(t, Start{})
			if err := h.d.Prompt(Prompt{ID: "p"}); err != nil {
				t.Fatal(err)
			}
			h.line(append(c.lines, ended)...)
			if !slices.Equal(h.models, []string{c.want}) {
				t.Errorf("models %q, want %q", h.models, c.want)
			}
		})
	}
}

// TestModelOfCodex checks that the usage of a turn names the model that it was rerouted to, or
// that was requested for it. A reroute does not affect the next turn.
func TestModelOfCodex(t *testing.T) {
	t.Parallel()
	h := newStage(t, Codex(), Start{})
	h.line(`{"id":1,"result":{}}`, `{"id":2,"result":{"thread":{"id":"th"},"model":"big"}}`)
	used := `{"method":"thread/tokenUsage/updated","params":{"threadId":"th","tokenUsage":{"total":{"inputTokens":1,"totalTokens":1}}}}`
	for _, model := range []string{"", "other"} {
		if err := h.d.Prompt(Prompt{ID: "p", Model: model}); err != nil {
			t.Fatal(err)
		}
		if model == "" {
			h.line(`{"method":"model/rerouted","params":{"threadId":"th","turnId":"t","fromModel":"big","toModel":"safe","reason":"r"}}`)
		}
		h.line(used, `{"method":"turn/completed","params":{"threadId":"th","turn":{"status":"completed"}}}`)
	}
	if want := []string{"safe", "other"}; h.talk.Model != "big" || !slices.Equal(h.models, want) {
		t.Errorf("models %q, want %q; told %q", h.models, want, h.talk.Model)
	}
}

// TestModelOfACP checks that the model is the current one of the agent's settings, or the
// requested one once the agent accepts it. An agent that chooses automatically names none.
func TestModelOfACP(t *testing.T) {
	t.Parallel()
	answered := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1}}}`
	}
	changed := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"m","category":"model","currentValue":"c"}]}}}`
	for name, c := range map[string]struct {
		wanted string
		opened string
		lines  []string
		want   string
	}{
		"own":     {"", `{"sessionId":"s","models":{"currentModelId":"a"}}`, []string{answered("3")}, "a"},
		"none":    {"", `{"sessionId":"s","models":{"currentModelId":"auto"}}`, []string{answered("3")}, ""},
		"changed": {"", `{"sessionId":"s","models":{"currentModelId":"a"}}`, []string{changed, answered("3")}, "c"},
		"granted": {"b", `{"sessionId":"s","models":{"currentModelId":"a","availableModels":[{"modelId":"b"}]}}`, []string{`{"jsonrpc":"2.0","id":3,"result":{}}`, answered("4")}, "b"},
		"refused": {"b", `{"sessionId":"s","models":{"currentModelId":"a","availableModels":[{"modelId":"b"}]}}`, []string{`{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"no"}}`, answered("4")}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newStage(t, ACP(), Start{Model: c.wanted})
			h.line(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, `{"jsonrpc":"2.0","id":2,"result":`+c.opened+`}`)
			if err := h.d.Prompt(Prompt{ID: "p"}); err != nil {
				t.Fatal(err)
			}
			h.line(c.lines...)
			if !slices.Equal(h.models, []string{c.want}) {
				t.Errorf("models %q, want %q", h.models, c.want)
			}
		})
	}
}
