package dialecttest

// A fake agent that speaks ACP.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

type object = map[string]any

// errDied ends the program of an agent within its turn.
var errDied = errors.New("the agent dies")

// speaker is the agent that Speak plays.
type speaker struct {
	out   io.Writer
	turn  json.RawMessage
	calls int
	then  func(option string)
}

// Speak plays an agent that speaks ACP. The last line of a prompt selects what it does:
//
//	ask COMMAND   asks for permission to run a command
//	write FILE    asks for permission to write a file
//	leave FILE    writes a file, and answers with its working directory
//	plan          shows a plan
//	tool COMMAND  runs a command
//	think         thinks, and uses two tools
//	hold          waits for an interrupt; hold FILE waits until the file exists
//	fail          answers with an error
//	die           exits
//
// If the line ends with "which model", it answers with its model. It echoes any other prompt word
// by word.
func Speak(stdin io.Reader, stdout io.Writer) error {
	s := &speaker{out: stdout}
	in := bufio.NewScanner(stdin)
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
			if err := s.prompt(m.Params.Prompt[0].Text); err != nil {
				return err
			}
		case "":
			s.answered(m.Result.Outcome.OptionID)
		}
	}
	return in.Err()
}

func (s *speaker) tell(v object) {
	v["jsonrpc"] = "2.0"
	text, _ := json.Marshal(v)
	_, _ = fmt.Fprintln(s.out, string(text)) // best effort: the reader may be gone
}

func (s *speaker) update(kind string, more object) {
	more["sessionUpdate"] = kind
	s.tell(object{"method": "session/update", "params": object{"sessionId": "s", "update": more}})
}

func text(said string) object { return object{"type": "text", "text": said} }

func (s *speaker) say(said string) { s.update("agent_message_chunk", object{"content": text(said)}) }

func (s *speaker) end(reason string) {
	s.tell(object{"id": s.turn, "result": object{"stopReason": reason, "usage": object{"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}}})
}

// ask asks for permission to make a call, and passes the chosen option to then.
func (s *speaker) ask(call object, then func(option string)) {
	s.then = then
	s.tell(object{"id": 1000 + s.calls, "method": "session/request_permission", "params": object{
		"sessionId": "s", "toolCall": call,
		"options": []object{
			{"optionId": "yes", "kind": "allow_once", "name": "Yes"}, {"optionId": "always", "kind": "allow_always", "name": "Always"},
			{"optionId": "no", "kind": "reject_once", "name": "No"},
		},
	}})
}

// answered handles the answer to the last question, "" for a cancellation.
func (s *speaker) answered(option string) {
	if option == "" {
		s.end("cancelled")
	} else if s.then != nil {
		s.then(option)
	}
}

// asks asks for permission to make a call, and answers the prompt with the chosen option.
func (s *speaker) asks(call object) {
	s.calls++
	id := fmt.Sprint("t", s.calls)
	call["toolCallId"] = id
	s.ask(call, func(option string) {
		status := map[bool]string{true: "completed", false: "failed"}[option != "no"]
		s.update("tool_call_update", object{"toolCallId": id, "status": status})
		s.say("answered " + option)
		s.end("end_turn")
	})
}

func (s *speaker) prompt(all string) error {
	lines := strings.Split(strings.TrimSpace(all), "\n")
	last := lines[len(lines)-1]
	if strings.HasSuffix(last, "which model") { // earlier messages may precede it
		s.say("the model is " + os.Getenv("AC_MODEL"))
		s.end("end_turn")
		return nil
	}
	how, arg, _ := strings.Cut(last, " ")
	switch how {
	case "ask":
		s.asks(object{"kind": "execute", "title": arg, "status": "pending", "rawInput": object{"command": arg}})
	case "write":
		s.asks(object{"kind": "edit", "title": "Write " + arg, "status": "pending", "locations": []object{{"path": arg}}})
	case "hold":
		s.hold(arg)
	case "die":
		return errDied
	case "fail":
		s.tell(object{"id": s.turn, "error": object{"code": -32000, "message": "out of order"}})
	default:
		s.act(how, arg, all)
		s.end("end_turn")
	}
	return nil
}

// act acts and answers. The caller then ends the turn.
func (s *speaker) act(how, arg, all string) {
	switch how {
	case "plan":
		s.update("plan", object{"entries": []object{{"content": "look", "status": "completed"}, {"content": "do", "status": "in_progress"}}})
	case "tool":
		s.say("I run it. ")
		s.update("tool_call", object{"toolCallId": "c1", "title": arg, "kind": "execute", "status": "in_progress", "rawInput": object{"command": arg}})
		s.update("tool_call_update", object{"toolCallId": "c1", "status": "completed", "content": []object{{"type": "content", "content": text("out of " + arg + "\n")}}})
		s.say("It ran.")
	case "think":
		s.update("agent_thought_chunk", object{"content": text("hm")})
		s.say("first ")
		s.update("tool_call", object{"toolCallId": "r1", "kind": "read", "title": "Read x", "status": "in_progress", "rawInput": object{"path": "x"}})
		s.update("tool_call_update", object{"toolCallId": "r1", "status": "completed", "content": []object{{"type": "content", "content": text("the file")}}})
		s.update("tool_call", object{"toolCallId": "r2", "kind": "execute", "title": "Run y", "status": "in_progress", "rawInput": object{"command": "y"}})
		s.say("second")
	case "leave":
		dir, err := os.Getwd()
		if err == nil {
			err = os.WriteFile(arg, []byte("left\n"), 0o600)
		}
		s.say(fmt.Sprint(dir, map[bool]any{true: "", false: err}[err == nil]))
	default:
		for word := range strings.SplitAfterSeq("you said: "+all, " ") {
			s.say(word)
		}
	}
}

// holdPause is the polling interval for a file.
const holdPause = 5 * time.Millisecond

// hold waits for a file, or, without one, for an interrupt.
func (s *speaker) hold(file string) {
	s.say("holding ")
	if file == "" {
		return
	}
	for range Patience / holdPause {
		if _, err := os.Stat(file); err == nil {
			break
		}
		time.Sleep(holdPause)
	}
	s.say("released")
	s.end("end_turn")
}
