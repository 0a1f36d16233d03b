//go:build browser

package browser

// An agent for the real program to launch: this test binary, which speaks codex app-server's
// protocol and follows the steps in its prompt.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// pulse is the interval between the messages of "pulse X".
const pulse = 1250 * time.Millisecond

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "app-server" {
		(&agent{out: json.NewEncoder(os.Stdout)}).serve()
		return
	}
	status := m.Run()
	if programDir != "" {
		_ = os.RemoveAll(programDir)
	}
	os.Exit(status)
}

// agent follows the steps of a prompt, separated by semicolons: "say X"; "run X", which asks for
// permission; "question X", with the choices Red and Blue; "write NAMES X"; "pulse X"; and "hold",
// which waits until the agent is steered or stopped.
type agent struct {
	out         *json.Encoder
	steps       []string
	turn, items int
}

func (a *agent) tell(method string, params object) {
	params["threadId"] = "th"
	_ = a.out.Encode(object{"method": method, "params": params})
}

func (a *agent) ask(method string, params object) {
	params["threadId"], params["turnId"] = "th", a.turnID()
	_ = a.out.Encode(object{"id": fmt.Sprintf("ask%d", a.items), "method": method, "params": params})
}

func (a *agent) turnID() string { return fmt.Sprintf("tu%d", a.turn) }

func (a *agent) item(stage string, item object) {
	item["id"] = fmt.Sprintf("item%d", a.items)
	a.tell("item/"+stage, object{"item": item})
}

func (a *agent) say(text string) {
	a.items++
	a.item("started", object{"type": "agentMessage", "text": ""})
	for _, word := range strings.SplitAfter(text, " ") {
		a.tell("item/agentMessage/delta", object{"itemId": fmt.Sprintf("item%d", a.items), "delta": word})
	}
	a.item("completed", object{"type": "agentMessage", "text": text})
}

// writeFiles writes the same text to files, whose names are separated by commas, and reports them
// as one change.
func (a *agent) writeFiles(names, text string, _ bool) {
	a.items++
	status := "completed"
	var changes []object
	for name := range strings.SplitSeq(names, ",") {
		changes = append(changes, object{"path": name, "kind": object{"type": "add"}, "diff": text + "\n"})
		if err := os.WriteFile(name, []byte(text+"\n"), 0o600); err != nil {
			status = "failed"
		}
	}
	a.item("completed", object{"type": "fileChange", "status": status, "changes": changes})
}

// advance performs steps until one must wait for a person.
func (a *agent) advance() {
	for ; len(a.steps) > 0; a.steps = a.steps[1:] {
		verb, rest, _ := strings.Cut(strings.TrimSpace(a.steps[0]), " ")
		switch verb {
		case "run":
			a.items++
			a.item("started", object{"type": "commandExecution", "command": rest, "cwd": "/repo", "status": "inProgress"})
			a.ask("item/commandExecution/requestApproval", object{"itemId": fmt.Sprintf("item%d", a.items), "command": rest, "cwd": "/repo"})
			return
		case "question":
			a.items++
			a.ask("item/tool/requestUserInput", object{"questions": []object{{"id": "q", "header": "Colour", "question": rest,
				"options": []object{{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}}}}})
			return
		case "pulse": // says something at a steady pace until stopped
			for i := 0; ; i++ {
				a.say(fmt.Sprintf("%s %d", rest, i))
				time.Sleep(pulse)
			}
		case "write":
			a.writeFiles(strings.Cut(rest, " "))
		case "hold":
			a.say("I hold.")
			return
		default:
			a.say(rest)
		}
	}
	a.tell("turn/completed", object{"turn": object{"id": a.turnID(), "status": "completed"}})
}

// answered completes the waiting step and advances.
func (a *agent) answered(decision string, answers []string) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(a.steps[0]), " ")
	a.steps = a.steps[1:]
	if verb == "question" {
		a.say("I take " + strings.Join(answers, ", ") + ".")
	} else {
		done := object{"type": "commandExecution", "command": rest, "cwd": "/repo", "status": "declined"}
		if strings.HasPrefix(decision, "accept") {
			done["status"], done["exitCode"], done["aggregatedOutput"] = "completed", 0, "output of "+rest
		}
		a.item("completed", done)
	}
	a.advance()
}

func (a *agent) serve() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 4<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ClientUserMessageID string
				Input               []struct{ Text string }
			}
			Result struct {
				Decision string
				Answers  map[string]struct{ Answers []string }
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			return
		}
		answer := func(result object) { _ = a.out.Encode(object{"id": m.ID, "result": result}) }
		switch m.Method {
		case "initialize":
			answer(object{"userAgent": "agentcompany/1.0.0 (scripted)"})
		case "thread/start", "thread/resume":
			answer(object{"thread": object{"id": "th"}})
		case "turn/start":
			a.turn++
			a.steps = strings.Split(m.Params.Input[0].Text, ";")
			answer(object{"turn": object{"id": a.turnID()}})
			a.advance()
		case "turn/steer":
			a.items++
			a.item("started", object{"type": "userMessage", "clientId": m.Params.ClientUserMessageID})
			answer(object{"turnId": a.turnID()})
			a.say("Steered: " + m.Params.Input[0].Text)
			a.steps = a.steps[1:]
			a.advance()
		case "turn/interrupt":
			answer(object{})
			a.steps = nil
			a.tell("turn/completed", object{"turn": object{"id": a.turnID(), "status": "interrupted"}})
		case "":
			if len(a.steps) > 0 {
				a.answered(m.Result.Decision, m.Result.Answers["q"].Answers)
			}
		}
	}
}
