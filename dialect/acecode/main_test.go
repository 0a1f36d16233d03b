package acecode

// The test binary plays every part: supervisor, guard, and an agent that speaks ACP.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/internal/runtimetest"
	"ac/runs/session"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "speaker" {
		os.Exit(exitOf(speak()))
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(session.RunGuard()))
		case session.SuperviseCommand:
			executable, err := os.Executable()
			if err == nil {
				err = session.SuperviseMain(executable, os.Stdin, os.Stdout, nil)
			}
			os.Exit(exitOf(err))
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

type object = map[string]any

// speaker is an agent that speaks ACP. The first word of a prompt says what it does: "ask"
// asks for leave to run a command, "write" for leave to write a file outside, "plan" shows
// a plan, "tool" runs a command, "hold" waits until it is interrupted, "die" ends; "which model" at
// the end is answered; any other text is said back, word by word.
type speaker struct {
	turn  json.RawMessage
	calls int
	then  func(option string)
}

func (s *speaker) tell(v object) {
	v["jsonrpc"] = "2.0"
	text, _ := json.Marshal(v)
	fmt.Println(string(text))
}

func (s *speaker) update(v object) {
	s.tell(object{"method": "session/update", "params": object{"sessionId": "s", "update": v}})
}

func (s *speaker) say(text string) {
	s.update(object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text}})
}

func (s *speaker) end(reason string) {
	s.tell(object{"id": s.turn, "result": object{"stopReason": reason, "usage": object{"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}}})
}

func (s *speaker) ask(kind, title, path string, then func(option string)) {
	s.calls++
	s.then = then
	call := object{"toolCallId": fmt.Sprint("t", s.calls), "kind": kind, "title": title, "status": "pending"}
	if path != "" {
		call["locations"] = []object{{"path": path}}
	} else {
		call["rawInput"] = object{"command": title}
	}
	s.tell(object{"id": 1000 + s.calls, "method": "session/request_permission", "params": object{
		"sessionId": "s", "toolCall": call,
		"options": []object{
			{"optionId": "yes", "kind": "allow_once", "name": "Yes"}, {"optionId": "always", "kind": "allow_always", "name": "Always"},
			{"optionId": "no", "kind": "reject_once", "name": "No"},
		},
	}})
}

func (s *speaker) prompt(text string) {
	how, arg, _ := strings.Cut(strings.TrimSpace(text), " ")
	if strings.HasSuffix(strings.TrimSpace(text), "which model") { // behind what was said before, too
		s.say("the model is " + os.Getenv("AC_MODEL"))
		s.end("end_turn")
		return
	}
	switch how {
	case "ask":
		s.ask("execute", arg, "", func(option string) {
			s.update(object{"sessionUpdate": "tool_call_update", "toolCallId": fmt.Sprint("t", s.calls), "status": "completed"})
			s.say("answer: " + option)
			s.end("end_turn")
		})
	case "write":
		s.ask("edit", "Write "+arg, arg, func(option string) {
			s.say("answer: " + option)
			s.end("end_turn")
		})
	case "plan":
		s.update(object{"sessionUpdate": "plan", "entries": []object{{"content": "look", "status": "completed"}, {"content": "do", "status": "in_progress"}}})
		s.end("end_turn")
	case "tool":
		s.say("I run it. ")
		s.update(object{"sessionUpdate": "tool_call", "toolCallId": "c1", "title": arg, "kind": "execute", "status": "in_progress", "rawInput": object{"command": arg}})
		s.update(object{"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed", "content": []object{{"type": "content", "content": object{"type": "text", "text": "out of " + arg + "\n"}}}})
		s.say("It ran.")
		s.end("end_turn")
	case "hold":
		s.say("holding")
	case "die":
		fmt.Fprintln(os.Stderr, "the agent dies")
		os.Exit(3)
	default:
		for word := range strings.SplitAfterSeq("you said: "+text, " ") {
			s.say(word)
		}
		s.end("end_turn")
	}
}

func speak() error {
	s := &speaker{}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
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
			s.tell(object{"id": m.ID, "result": object{"protocolVersion": 1, "agentCapabilities": object{}}})
		case "session/new":
			s.tell(object{"id": m.ID, "result": object{"sessionId": "s"}})
		case "session/cancel":
			s.end("cancelled")
		case "session/prompt":
			s.turn = m.ID
			s.prompt(m.Params.Prompt[0].Text)
		case "":
			if option := m.Result.Outcome.OptionID; option == "" {
				s.end("cancelled")
			} else if s.then != nil {
				s.then(option)
			}
		}
	}
	return in.Err()
}
