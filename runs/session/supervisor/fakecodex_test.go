package supervisor_test

// A scripted codex: its prompt lists what it does, step by step, in the protocol of the
// recorded app server.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// fakeCodex is the scripted agent. Its prompt consists of steps, separated by semicolons:
//
//	say X         sends a message
//	ask X         asks for permission to run a command; says the answer
//	flood X       as ask, for more requests than may be open
//	question X    asks a question with the choices Red and Blue
//	withdraw X    as ask, and withdraws the request
//	hold          waits for a steer, which it says, or for an interruption
//	deaf          as hold, but does not end its turn when interrupted
//	compacted     reports that the context was compacted
//	human X       asks people with the tools of its session; says the answer
//	left X        as human, but does not wait for the answer
//	again X       as human, but waits on another connection than the one that asked
//	heard         waits for the answer to the newest of these and says it
//	bound         says its sandbox and approval settings
//	servers       says the MCP servers it received
//	vanish        exits without a message
//	die           exits with a message on stderr
//	fail X        fails the turn with the error X
//	stuff         stops reading
//	shut          closes its input and stays alive
//	shut and ask  as shut, and keeps asking for permissions
//	shut and die  closes its input and exits with a message on stderr
type fakeCodex struct {
	steps []string
	turn  int
	asked int
	open  map[string]string // request id to what was asked
	deaf  bool
	used  int
	tools fakeTools
	bound string // its sandbox, approval policy and reviewer

	servers []byte // as received from the client
}

// told stores the MCP servers that the client sent, and the arguments of ac's own server.
func (f *fakeCodex) told(servers []byte) {
	var known map[string]struct{ Args []string }
	_ = json.Unmarshal(servers, &known)
	f.servers, f.tools.args = servers, known["ac"].Args
}

// repeated writes the MCP servers that an agent received to the file $SERVERS_FILE, which the
// test reads. It returns them for the agent to say.
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

// advance executes steps until one has to wait. It reports whether the agent exits.
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
		case "flood": // more requests than may be open
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
				time.Sleep(300 * time.Millisecond) // texts sent meanwhile find no reader
				fmt.Fprintln(os.Stderr, "out of luck")
				return true
			}
			for range 900 { // longer than any test
				if rest == "and ask" { // answered at once if no person is asked
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

// take handles one line of the client. It reports whether the agent exits.
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

// appServerMain plays codex app-server.
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
