package supervisor_test

// A scripted codex: its prompt says what it does, one step after another, as the
// recorded app server does it.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// fakeCodex is the scripted agent. Steps stand in the prompt, parted by semicolons:
//
//	say X       a message
//	ask X       leave to run a command; the answer is said
//	question X  a question with the choices Red and Blue
//	withdraw X  as ask, and takes the request back
//	hold        until a steer, which is said, or an interruption
//	deaf        as hold, and answers no interruption
//	compacted   says that the context was compacted
//	human X     asks people by the tools of its session; the answer is said
//	left X      as human, waits for no answer
//	again X     as human, by another connection than the one that asked
//	heard       waits for the answer to the newest of these and says it
//	vanish      ends without a word
//	die         ends with words on stderr
//	fail X      the turn fails
//	stuff       reads nothing any more
type fakeCodex struct {
	steps []string
	turn  int
	asked int
	open  map[string]string // request id to what was asked
	deaf  bool
	used  int
	tools fakeTools
	bound string // how far its sandbox goes, and whom it asks

	servers []byte // that it was told of
}

// told keeps the MCP servers that it is told of.
func (f *fakeCodex) told(servers []byte) {
	var known map[string]struct{ Args []string }
	_ = json.Unmarshal(servers, &known)
	f.servers, f.tools.args = servers, known["ac"].Args
}

// repeated is the MCP servers that an agent was told of, which it writes into the file
// that the test waits for, and says.
func repeated(servers []byte) string {
	_ = os.WriteFile(os.Getenv("SERVERS_FILE"), servers, 0o600)
	return string(servers)
}

func (f *fakeCodex) say(v any) {
	text, _ := json.Marshal(v)
	fmt.Println(string(text))
}

type object = map[string]any

func (f *fakeCodex) note(method string, params object) {
	params["threadId"] = "th_1"
	f.say(object{"method": method, "params": params})
}

func (f *fakeCodex) turnID() string { return fmt.Sprintf("tu_%d", f.turn) }

func (f *fakeCodex) message(text string) {
	id := fmt.Sprintf("msg_%d_%d", f.turn, len(f.steps))
	f.note("item/started", object{"item": object{"type": "agentMessage", "id": id, "text": ""}})
	f.note("item/completed", object{"item": object{"type": "agentMessage", "id": id, "text": text}})
}

// advance does steps until one has to wait.
func (f *fakeCodex) advance() (gone bool) {
	for len(f.steps) > 0 {
		word, rest, _ := strings.Cut(strings.TrimSpace(f.steps[0]), " ")
		switch word {
		case "ask", "withdraw":
			f.open[fmt.Sprint(f.asked)] = rest
			f.say(object{"method": "item/commandExecution/requestApproval", "id": f.asked, "params": object{
				"threadId": "th_1", "turnId": f.turnID(), "itemId": fmt.Sprintf("exec_%d", f.asked), "command": "/bin/bash -lc '" + rest + "'", "cwd": "/repo",
			}})
			f.asked++
			if word == "withdraw" {
				delete(f.open, fmt.Sprint(f.asked-1))
				f.note("serverRequest/resolved", object{"requestId": f.asked - 1})
				break
			}
			return false
		case "flood": // more than may be open
			for range 66 {
				f.open[fmt.Sprint(f.asked)] = rest
				f.say(object{"method": "item/commandExecution/requestApproval", "id": f.asked, "params": object{
					"threadId": "th_1", "turnId": f.turnID(), "itemId": fmt.Sprintf("exec_%d", f.asked), "command": rest, "cwd": "/repo",
				}})
				f.asked++
			}
			return false
		case "question":
			f.open[fmt.Sprint(f.asked)] = "question"
			f.say(object{"method": "item/tool/requestUserInput", "id": f.asked, "params": object{"threadId": "th_1", "questions": []object{{
				"id": "q", "header": "Colour", "question": rest, "isOther": strings.HasPrefix(rest, "secret"), "isSecret": strings.HasPrefix(rest, "secret"),
				"options": []object{{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}},
			}}}})
			f.asked++
			return false
		case "human", "left", "again", "heard":
			if text := f.tools.do(word, rest); text != "" {
				f.message(text)
			}
		case "hold", "deaf":
			f.deaf = word == "deaf"
			f.message("holding")
			return false
		case "stuff":
			f.message("stuffed")
			time.Sleep(3 * time.Minute) // longer than any test
		case "shut":
			_ = os.Stdin.Close()
			f.message("shut")
			if rest == "and die" {
				time.Sleep(300 * time.Millisecond) // what is said to it meanwhile finds no reader
				fmt.Fprintln(os.Stderr, "out of luck")
				return true
			}
			for range 900 { // longer than any test
				if rest == "and ask" { // which is answered at once where nobody is asked
					f.say(object{"method": "item/commandExecution/requestApproval", "id": f.asked, "params": object{
						"threadId": "th_1", "turnId": f.turnID(), "itemId": fmt.Sprintf("exec_%d", f.asked), "command": "ls", "cwd": "/repo",
					}})
					f.asked++
				}
				time.Sleep(200 * time.Millisecond)
			}
		case "bound":
			f.message(f.bound)
		case "servers":
			f.message(repeated(f.servers))
		case "compacted":
			f.note("thread/compacted", object{})
		case "vanish":
			return true
		case "die":
			fmt.Fprintln(os.Stderr, "out of luck")
			return true
		case "fail":
			f.steps = nil
			f.note("turn/completed", object{"turn": object{"id": f.turnID(), "status": "failed", "error": object{"message": rest}}})
			return false
		default:
			f.message(strings.TrimPrefix(strings.TrimSpace(f.steps[0]), "say "))
		}
		f.steps = f.steps[1:]
	}
	f.used += 30
	f.note("thread/tokenUsage/updated", object{"tokenUsage": object{"total": object{"inputTokens": f.used, "outputTokens": 5, "totalTokens": f.used + 5}}})
	f.note("turn/completed", object{"turn": object{"id": f.turnID(), "status": "completed"}})
	return false
}

// take answers one line of the client.
func (f *fakeCodex) take(line []byte) (gone bool) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			ThreadID            string
			ExpectedTurnID      string
			ClientUserMessageID string
			Input               []struct{ Text string }
			Sandbox             string
			ApprovalPolicy      string
			ApprovalsReviewer   string
			Config              struct {
				Servers json.RawMessage `json:"mcp_servers"`
			}
		}
		Result struct {
			Decision string
			Answers  map[string]struct{ Answers []string }
		}
	}
	if json.Unmarshal(line, &m) != nil {
		return true
	}
	answer := func(result object) { f.say(object{"id": m.ID, "result": result}) }
	if p := m.Params; p.Sandbox != "" {
		f.bound = strings.TrimSpace(p.Sandbox + " " + p.ApprovalPolicy + " " + p.ApprovalsReviewer)
	}
	switch m.Method {
	case "initialize":
		fmt.Println("starting up, not JSON")
		answer(object{"userAgent": "agentcompany/9.9.9 (fake)"})
	case "thread/start":
		f.told(m.Params.Config.Servers)
		answer(object{"thread": object{"id": "th_1"}, "model": "scripted-codex"})
	case "thread/resume":
		f.told(m.Params.Config.Servers)
		if m.Params.ThreadID != "th_1" {
			f.say(object{"id": m.ID, "error": object{"code": -32600, "message": "no rollout found for thread id " + m.Params.ThreadID}})
			return false
		}
		f.used = 30
		answer(object{"thread": object{"id": "th_1"}, "model": "scripted-codex"})
		f.note("thread/tokenUsage/updated", object{"tokenUsage": object{"total": object{"inputTokens": f.used, "outputTokens": 5, "totalTokens": f.used + 5}}})
	case "thread/compact/start":
		f.turn++
		answer(object{})
		f.note("turn/started", object{"turn": object{"id": f.turnID()}})
		f.note("turn/completed", object{"turn": object{"id": f.turnID(), "status": "completed"}})
	case "turn/start":
		f.turn++
		f.deaf = false
		answer(object{"turn": object{"id": f.turnID()}})
		text := m.Params.Input[0].Text
		if _, prompt, ok := strings.Cut(text, "\n---\n"); ok {
			text = prompt
		}
		f.steps = strings.Split(strings.ReplaceAll(text, "\n\n", ";"), ";")
		return f.advance()
	case "turn/steer":
		if len(f.steps) == 0 || m.Params.ExpectedTurnID != f.turnID() {
			f.say(object{"id": m.ID, "error": object{"code": -32600, "message": "no active turn to steer"}})
			return false
		}
		f.note("item/started", object{"item": object{"type": "userMessage", "clientId": m.Params.ClientUserMessageID}})
		answer(object{"turnId": f.turnID()})
		f.message("steered: " + m.Params.Input[0].Text)
		f.steps = f.steps[1:]
		return f.advance()
	case "turn/interrupt":
		answer(object{})
		if !f.deaf {
			f.steps = nil
			f.note("turn/completed", object{"turn": object{"id": f.turnID(), "status": "interrupted"}})
		}
	case "":
		key := string(m.ID)
		if _, open := f.open[key]; !open || len(f.steps) == 0 {
			return false
		}
		delete(f.open, key)
		f.note("serverRequest/resolved", object{"requestId": json.RawMessage(key)})
		f.message("answer: " + m.Result.Decision + strings.Join(m.Result.Answers["q"].Answers, ","))
		f.steps = f.steps[1:]
		return f.advance()
	}
	return false
}

// appServerMain answers as codex app-server does.
func appServerMain() int {
	f := &fakeCodex{open: map[string]string{}}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	for in.Scan() {
		if f.take(in.Bytes()) {
			return 0
		}
	}
	return 0
}
