package dialecttest

// A fake claude program that asks questions.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ac/workspace"
)

// AddClaude adds an agent whose program is the fake Claude.
func (s *Stage) AddClaude() {
	s.T.Helper()
	bin := Program(s.T, "claude")
	w := Must(workspace.Open(workspace.SystemEnv(), s.Dir))
	s.Agents["Claude"] = Must(w.NewAgent(s.T.Context(), workspace.AgentSpec{Name: "Claude", Role: "worker", Provider: "claude_code"}))
	if err := w.Close(); err != nil {
		s.T.Fatal(err)
	}
	file := filepath.Join(s.Dir, workspace.MachineFile)
	text := string(Must(os.ReadFile(file)))
	text = strings.Replace(text, "provider_bins: {}\n", "provider_bins: {claude: "+bin+"}\n", 1)
	text = strings.ReplaceAll(strings.ReplaceAll(text, "channel: subscription_cli", "channel: api"), "require_subscription_proof: true", "require_subscription_proof: false")
	Write(s.T, file, text)
}

// Claude plays the claude program. It asks two questions at once, then presents a plan, then prints
// the answers it received.
func Claude(stdin io.Reader, stdout io.Writer) error {
	if slices.Contains(os.Args, "--version") {
		_, err := fmt.Fprintln(stdout, "2.1.0 (Claude Code)")
		return err
	}
	in := bufio.NewScanner(stdin)
	in.Buffer(nil, 8<<20)
	tell := func(v map[string]any) {
		text, _ := json.Marshal(v)
		_, _ = fmt.Fprintln(stdout, string(text)) // best effort: the reader may be gone
	}
	ask := func(id, tool string, input map[string]any) {
		tell(map[string]any{"type": "control_request", "request_id": id, "request": map[string]any{"subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": "t-" + id}})
	}
	heard := []string{}
	for in.Scan() {
		var m struct {
			Type      string
			RequestID string `json:"request_id"`
			Response  struct {
				Response struct {
					Behavior, Message string
					UpdatedInput      struct{ Answers map[string]string } `json:"updatedInput"`
				}
			}
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return err
		}
		switch m.Type {
		case "control_request":
			tell(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": m.RequestID, "response": map[string]any{}}})
		case "user":
			tell(map[string]any{"type": "system", "subtype": "init", "session_id": "se_1"})
			ask("q", "AskUserQuestion", map[string]any{"questions": []map[string]any{
				{"question": "Which colour?", "header": "Colour", "multiSelect": true, "options": []map[string]any{{"label": "Red"}, {"label": "Blue"}}},
				{"question": "Which size?", "header": "Size", "options": []map[string]any{{"label": "S"}, {"label": "L"}}},
			}})
		case "control_response":
			got := m.Response.Response
			if heard = append(heard, fmt.Sprint(got.Behavior, got.Message, got.UpdatedInput.Answers)); len(heard) == 1 {
				ask("p", "ExitPlanMode", map[string]any{"plan": "Do it."})
				continue
			}
			tell(map[string]any{"type": "assistant", "message": map[string]any{"id": "m", "role": "assistant", "content": []map[string]any{{"type": "text", "text": strings.Join(heard, "; ")}}}})
			tell(map[string]any{"type": "result", "subtype": "success", "num_turns": 1, "session_id": "se_1", "usage": map[string]any{"input_tokens": 30, "cache_read_input_tokens": 2, "output_tokens": 5}})
		}
	}
	return nil
}
