package comma

// The test binary plays every part: runner, guard, the listener as a process of its own, and
// the agent that is spoken with.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/runtimetest"
	"ac/runs/session"
)

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "speaker":
		os.Exit(exitOf(speak()))
	case "claude":
		if slices.Contains(os.Args, "--version") {
			fmt.Println("2.1.0 (Claude Code)")
			os.Exit(0)
		}
		os.Exit(exitOf(speakClaude()))
	case "printer":
		os.Exit(exitOf(printBack()))
	}
	if len(os.Args) > 1 {
		executable, err := os.Executable()
		if err != nil {
			os.Exit(exitOf(err))
		}
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(session.RunGuard()))
		case job.RunCommand:
			os.Exit(exitOf(workflow.RunJob(executable, os.Stdin, os.Stdout, nil)))
		case daemonWord:
			os.Exit(exitOf(daemon(os.Args[2:])))
		}
	}
	os.Exit(runtimetest.With(m).Run())
}

func exitOf(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// printBack plays a command: it prints its prompt in brackets.
func printBack() error {
	text, err := io.ReadAll(os.Stdin)
	fmt.Printf("[%s]\n", strings.TrimSpace(string(text)))
	return err
}

// agentSpeaks plays an agent that speaks ACP. The last line of a prompt says what it does:
// "hold FILE" waits for a file, "write" asks for leave to write one, "think" thinks and uses
// a tool, "fail" breaks off; everything else is said back.
type agentSpeaks struct {
	turn  json.RawMessage
	asked int
}

func (a *agentSpeaks) tell(v object) {
	v["jsonrpc"] = "2.0"
	text, _ := json.Marshal(v)
	fmt.Println(string(text))
}

func (a *agentSpeaks) update(kind string, more object) {
	more["sessionUpdate"] = kind
	a.tell(object{"method": "session/update", "params": object{"sessionId": "s", "update": more}})
}

func (a *agentSpeaks) say(text string) {
	a.update("agent_message_chunk", object{"content": object{"type": "text", "text": text}})
}

func (a *agentSpeaks) done(reason string) {
	a.tell(object{"id": a.turn, "result": object{"stopReason": reason}})
}

func (a *agentSpeaks) prompted(prompt string) {
	lines := strings.Split(strings.TrimSpace(prompt), "\n")
	how, arg, _ := strings.Cut(lines[len(lines)-1], " ")
	switch how {
	case "hold":
		a.say("holding ")
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(arg); err == nil {
				break
			}
		}
		a.say("released")
		a.done("end_turn")
	case "write":
		a.asked++
		a.update("tool_call", object{"toolCallId": "w1", "kind": "edit", "title": "Write notes.md", "status": "pending", "locations": []object{{"path": arg}}, "rawInput": object{"path": arg}})
		a.tell(object{"id": a.asked, "method": "session/request_permission", "params": object{
			"sessionId": "s", "toolCall": object{"toolCallId": "w1", "kind": "edit", "title": "Write notes.md", "locations": []object{{"path": arg}}},
			"options": []object{{"optionId": "yes", "kind": "allow_once", "name": "Yes"}, {"optionId": "always", "kind": "allow_always", "name": "Always"}, {"optionId": "no", "kind": "reject_once", "name": "No"}},
		}})
	case "think":
		a.update("agent_thought_chunk", object{"content": object{"type": "text", "text": "hm"}})
		a.say("first ")
		a.update("tool_call", object{"toolCallId": "r1", "kind": "read", "title": "Read x", "status": "in_progress", "rawInput": object{"path": "x"}})
		a.update("tool_call_update", object{"toolCallId": "r1", "status": "completed", "content": []object{{"type": "content", "content": object{"type": "text", "text": "the file"}}}})
		a.update("tool_call", object{"toolCallId": "r2", "kind": "execute", "title": "Run y", "status": "in_progress", "rawInput": object{"command": "y"}})
		a.say("second")
		a.done("end_turn")
	case "fail":
		a.tell(object{"id": a.turn, "error": object{"code": -32000, "message": "out of order"}})
	default:
		a.say("you said: ")
		a.say(prompt)
		a.done("end_turn")
	}
}

func speak() error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	a := &agentSpeaks{}
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Prompt []struct{ Text string } }
			Result struct{ Outcome struct{ OptionID string } }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return err
		}
		switch m.Method {
		case "initialize":
			a.tell(object{"id": m.ID, "result": object{"protocolVersion": 1, "agentCapabilities": object{}}})
		case "session/new":
			a.tell(object{"id": m.ID, "result": object{"sessionId": "s"}})
		case "session/cancel":
			a.done("cancelled")
		case "session/prompt":
			a.turn = m.ID
			a.prompted(m.Params.Prompt[0].Text)
		case "":
			status := map[bool]string{true: "completed", false: "failed"}[m.Result.Outcome.OptionID != "no"]
			a.update("tool_call_update", object{"toolCallId": "w1", "status": status})
			a.say("answered " + m.Result.Outcome.OptionID)
			a.done("end_turn")
		}
	}
	return nil
}

// until waits for a state.
func until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !reached(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so after %v: %s", patience, what)
		}
	}
}

// speakClaude plays claude: it asks two questions at once and then has a plan, and says what
// it was answered.
func speakClaude() error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	tell := func(v object) {
		text, _ := json.Marshal(v)
		fmt.Println(string(text))
	}
	ask := func(id, tool string, input object) {
		tell(object{"type": "control_request", "request_id": id, "request": object{"subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": "t-" + id}})
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
			tell(object{"type": "control_response", "response": object{"subtype": "success", "request_id": m.RequestID, "response": object{}}})
		case "user":
			tell(object{"type": "system", "subtype": "init", "session_id": "se_1"})
			ask("q", "AskUserQuestion", object{"questions": []object{
				{"question": "Which colour?", "header": "Colour", "multiSelect": true, "options": []object{{"label": "Red"}, {"label": "Blue"}}},
				{"question": "Which size?", "header": "Size", "options": []object{{"label": "S"}, {"label": "L"}}},
			}})
		case "control_response":
			got := m.Response.Response
			if heard = append(heard, fmt.Sprint(got.Behavior, got.Message, got.UpdatedInput.Answers)); len(heard) == 1 {
				ask("p", "ExitPlanMode", object{"plan": "Do it."})
				continue
			}
			tell(object{"type": "assistant", "message": object{"id": "m", "role": "assistant", "content": []object{{"type": "text", "text": strings.Join(heard, "; ")}}}})
			tell(object{"type": "result", "subtype": "success", "num_turns": 1, "session_id": "se_1", "usage": object{"input_tokens": 30, "cache_read_input_tokens": 2, "output_tokens": 5}})
		}
	}
	return nil
}
