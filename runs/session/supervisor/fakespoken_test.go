package supervisor_test

// Scripted agents of the other two protocols: claude with stream-json, and an agent of the
// Agent Client Protocol. As with the scripted codex, the prompt lists what they do.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// speaker is the common part of the scripted agents. It executes the steps of the current turn
// (say X, ask X, hold and servers), and repeats each text it receives as "heard: X".
type speaker struct {
	steps  []string
	turn   int
	asked  int
	open   string // the open request, "" for none
	frames int

	servers []byte // as received from the client

	message func(text string)
	ask     func(id, command string)
	end     func(interrupted bool)
}

func emit(v any) {
	text, _ := json.Marshal(v)
	fmt.Println(string(text))
}

// begin starts a turn.
func (s *speaker) begin(text string) {
	s.turn++
	if _, prompt, ok := strings.Cut(text, "\n---\n"); ok {
		text = prompt
	}
	s.message("heard: " + text)
	s.steps = strings.Split(strings.ReplaceAll(text, "\n\n", ";"), ";")
	s.advance()
}

// advance executes steps until one has to wait.
func (s *speaker) advance() {
	for len(s.steps) > 0 {
		word, rest, _ := strings.Cut(strings.TrimSpace(s.steps[0]), " ")
		switch word {
		case "ask":
			s.open = fmt.Sprintf("req-%d", s.asked)
			s.asked++
			s.ask(s.open, rest)
			return
		case "hold":
			s.message("holding")
			return
		case "say":
			s.message(rest)
		case "servers":
			s.message(repeated(s.servers))
		}
		s.steps = s.steps[1:]
	}
	s.end(false)
}

// answered continues after a step that waited.
func (s *speaker) answered(how string) {
	if s.open == "" {
		return
	}
	s.open = ""
	s.message("answer: " + how)
	s.steps = s.steps[1:]
	s.advance()
}

// interrupted ends the turn.
func (s *speaker) interrupted() {
	if len(s.steps) > 0 {
		s.steps, s.open = nil, ""
		s.end(true)
	}
}

// eachFrame passes each line of stdin to take.
func eachFrame(take func(line []byte)) int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	for in.Scan() {
		take(in.Bytes())
	}
	return 0
}

// claudeMain plays claude.
func claudeMain() int {
	s := &speaker{}
	for _, word := range os.Args {
		if name, ok := strings.CutPrefix(word, "--mcp-config="); ok {
			s.servers, _ = os.ReadFile(name)
		}
	}
	var queued []object // texts that came during a turn
	read := func(m object) {
		emit(object{"type": "command_lifecycle", "command_uuid": m["uuid"], "state": "started"})
		m["isReplay"] = true
		emit(m)
	}
	s.message = func(text string) {
		s.frames++
		emit(object{"type": "assistant", "message": object{"id": fmt.Sprintf("m%d", s.frames), "role": "assistant", "content": []object{{"type": "text", "text": text}}}})
	}
	s.ask = func(id, command string) {
		emit(object{"type": "control_request", "request_id": id, "request": object{
			"subtype": "can_use_tool", "tool_name": "Bash", "input": object{"command": command}, "tool_use_id": "t-" + id,
		}})
	}
	text := func(m object) string {
		content, _ := m["message"].(object)
		said, _ := content["content"].(string)
		return said
	}
	s.end = func(interrupted bool) {
		terminal := "completed"
		if interrupted {
			terminal = "aborted_streaming"
		}
		emit(object{
			"type": "result", "subtype": "success", "is_error": interrupted, "num_turns": s.turn, "terminal_reason": terminal, "session_id": "se_1",
			"usage": object{"input_tokens": 30, "output_tokens": 5}, "total_cost_usd": 0.001,
		})
		if len(queued) > 0 {
			next := queued[0]
			queued = queued[1:]
			read(next)
			s.begin(text(next))
		}
	}
	return eachFrame(func(line []byte) {
		var m object
		if json.Unmarshal(line, &m) != nil {
			os.Exit(1) // as claude does
		}
		switch m["type"] {
		case "control_request":
			request, _ := m["request"].(object)
			if request["subtype"] == "interrupt" && s.open != "" {
				emit(object{"type": "control_cancel_request", "request_id": s.open})
			}
			emit(object{"type": "control_response", "response": object{"subtype": "success", "request_id": m["request_id"], "response": object{}}})
			if request["subtype"] == "interrupt" {
				s.interrupted()
			}
		case "control_response":
			response, _ := m["response"].(object)
			how, _ := response["response"].(object)
			for _, said := range queued { // delivered after the tool's result
				read(said)
				s.message("heard: " + text(said))
			}
			queued = nil
			s.answered(fmt.Sprint(how["behavior"]))
		case "user":
			if len(s.steps) > 0 {
				emit(object{"type": "command_lifecycle", "command_uuid": m["uuid"], "state": "queued"})
				queued = append(queued, m)
				if s.steps[0] == "hold" || strings.TrimSpace(s.steps[0]) == "hold" {
					s.steps = s.steps[1:]
					s.advance()
				}
				return
			}
			emit(object{"type": "system", "subtype": "init", "session_id": "se_1", "model": "scripted-claude"})
			read(m)
			s.begin(text(m))
		}
	})
}

// acpMain plays an agent of the Agent Client Protocol.
func acpMain() int {
	s := &speaker{}
	var prompt json.RawMessage // id of the current request
	s.message = func(text string) {
		s.frames++
		emit(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": "s1", "update": object{
			"sessionUpdate": "agent_message_chunk", "messageId": fmt.Sprint(s.frames), "content": object{"type": "text", "text": text},
		}}})
	}
	s.ask = func(id, command string) {
		emit(object{"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": object{
			"sessionId": "s1", "toolCall": object{"toolCallId": "t-" + id, "title": command, "kind": "execute", "status": "pending", "rawInput": object{"command": command}},
			"options": []object{{"optionId": "once", "kind": "allow_once", "name": "Allow"}, {"optionId": "reject", "kind": "reject_once", "name": "Reject"}},
		}})
	}
	s.end = func(interrupted bool) {
		reason := "end_turn"
		if interrupted {
			reason = "cancelled"
		}
		emit(object{"jsonrpc": "2.0", "id": prompt, "result": object{"stopReason": reason, "usage": object{"inputTokens": 30, "outputTokens": 5, "totalTokens": 35}}})
	}
	return eachFrame(func(line []byte) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Prompt  []struct{ Text string }
				Servers json.RawMessage `json:"mcpServers"`
			}
			Result struct {
				Outcome struct{ Outcome, OptionID string }
			}
		}
		if json.Unmarshal(line, &m) != nil {
			return
		}
		answer := func(result object) { emit(object{"jsonrpc": "2.0", "id": m.ID, "result": result}) }
		switch m.Method {
		case "initialize":
			answer(object{"protocolVersion": 1, "agentCapabilities": object{"loadSession": true, "mcpCapabilities": object{"http": true}}, "agentInfo": object{"name": "scripted", "version": "1"}})
		case "session/new", "session/load":
			s.servers = m.Params.Servers
			answer(object{"sessionId": "s1", "models": object{"currentModelId": "scripted-acp"}})
		case "session/prompt":
			prompt = append(json.RawMessage{}, m.ID...)
			s.begin(m.Params.Prompt[0].Text)
		case "session/cancel":
			s.interrupted()
		case "":
			s.answered(m.Result.Outcome.Outcome + m.Result.Outcome.OptionID)
		}
	})
}
