package job_test

// Fake live agents: each answers a prompt in the protocol of its kind.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

type object = map[string]any

// isSpoken reports whether the arguments start a worker as a live agent.
func isSpoken(args []string) bool {
	return slices.ContainsFunc(args, func(word string) bool { return word == "app-server" || word == "--acp" || word == "--input-format" })
}

// heard is a client's message, with the fields that a fake agent needs.
type heard struct {
	ID      json.RawMessage
	Method  string
	Type    string
	Request struct{ Subtype string }
	IDOf    string `json:"request_id"`
	Params  struct {
		Input  []struct{ Text string }
		Prompt []struct{ Text string }
	}
	Message struct{ Content string }
	Result  struct {
		Decision string
		Outcome  struct{ OptionID string }
	}
}

func tellClient(v object) {
	text, _ := json.Marshal(v)
	fmt.Println(string(text))
}

// speak plays a live agent. Its goal decides how it behaves: with "ask" it requests permission
// to write a file, with "hold" it waits to be steered.
func speak(name string) int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	how, waits := "", ""
	for in.Scan() {
		var m heard
		if json.Unmarshal(in.Bytes(), &m) != nil {
			return 1
		}
		if greeted(m) {
			continue
		}
		prompt := m.Message.Content
		for _, part := range slices.Concat(m.Params.Input, m.Params.Prompt) {
			prompt += part.Text
		}
		switch {
		case m.Method == "turn/steer":
			tellClient(object{"id": m.ID, "result": object{"turnId": "tu"}})
			closing(name, "", "steered: "+prompt)
		case prompt != "":
			waits, how = string(m.ID), label(prompt, "goal")
			if id := label(prompt, "job_id"); id != "" {
				note(id, label(prompt, "attempt_run_id"))
			}
			if m.Method == "turn/start" {
				tellClient(object{"id": m.ID, "result": object{"turn": object{"id": "tu"}}})
			}
			answer := "heard: " + prompt
			if what, text, _ := strings.Cut(how, " "); what == "tell" {
				answer = text
			}
			switch how {
			case "ask":
				tellClient(object{"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": object{
					"sessionId": "s", "toolCall": object{"toolCallId": "t", "kind": "edit", "title": "Write notes.md", "locations": []object{{"path": "notes.md"}}},
					"options": []object{{"optionId": "yes", "kind": "allow_once", "name": "Yes"}, {"optionId": "no", "kind": "reject_once", "name": "No"}},
				}})
			case "hold":
				tellClient(object{"method": "item/started", "params": object{"threadId": "th", "item": object{"type": "agentMessage", "id": "m0", "text": ""}}})
			default:
				closing(name, waits, answer)
			}
		case how == "ask" && m.Method == "":
			closing(name, waits, `{"text":"it may: `+m.Result.Outcome.OptionID+`"}`)
		}
	}
	return 0
}

// greeted answers the messages that precede the first prompt and reports whether m is one.
func greeted(m heard) bool {
	switch {
	case m.Type == "control_request":
		tellClient(object{"type": "control_response", "response": object{"subtype": "success", "request_id": m.IDOf, "response": object{}}})
	case m.Method == "initialize":
		tellClient(object{"jsonrpc": "2.0", "id": m.ID, "result": object{"protocolVersion": 1, "userAgent": "fake/1", "agentCapabilities": object{}}})
	case m.Method == "thread/start":
		tellClient(object{"id": m.ID, "result": object{"thread": object{"id": "th"}}})
	case m.Method == "session/new":
		tellClient(object{"jsonrpc": "2.0", "id": m.ID, "result": object{"sessionId": "s"}})
	default:
		return m.Method == "initialized"
	}
	return true
}

// closing sends an answer and ends the turn.
func closing(name, waits, answer string) {
	switch name {
	case "codex":
		tellClient(object{"method": "item/completed", "params": object{"threadId": "th", "item": object{"type": "agentMessage", "id": "m1", "text": answer}}})
		tellClient(object{"method": "turn/completed", "params": object{"threadId": "th", "turn": object{"id": "tu", "status": "completed"}}})
	case "claude":
		tellClient(object{"type": "assistant", "message": object{"role": "assistant", "content": []object{{"type": "text", "text": answer}}}})
		tellClient(object{"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": answer})
	default:
		tellClient(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": "s", "update": object{
			"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": answer}}}})
		tellClient(object{"jsonrpc": "2.0", "id": json.RawMessage(waits), "result": object{"stopReason": "end_turn"}})
	}
}
