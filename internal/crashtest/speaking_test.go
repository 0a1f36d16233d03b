package crashtest

// An agent of the Agent Client Protocol that echoes prompts and can ask for permission.

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// agentCommand makes the test binary such an agent.
const agentCommand = "speak"

// speak echoes each prompt as "heard: " and its text. If the text begins with "ask", it then
// requests a permission, and ends the turn only after the answer.
func speak() error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var prompt json.RawMessage // the ID of the pending request
	end := func(reason string) error {
		err := out.Encode(object{"jsonrpc": "2.0", "id": prompt, "result": object{"stopReason": reason}})
		prompt = nil
		return err
	}
	for asked := 0; ; {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Prompt []struct{ Text string } }
		}
		if err := in.Decode(&m); err != nil {
			return nil //nolint:nilerr // its input is over
		}
		var err error
		switch m.Method {
		case "initialize":
			err = out.Encode(object{"jsonrpc": "2.0", "id": m.ID, "result": object{"protocolVersion": 1, "agentCapabilities": object{"loadSession": true}}})
		case "session/new", "session/load":
			err = out.Encode(object{"jsonrpc": "2.0", "id": m.ID, "result": object{"sessionId": "s1"}})
		case "session/cancel":
			if prompt != nil {
				err = end("cancelled")
			}
		case "session/prompt":
			prompt = m.ID
			if _, err = fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`+"\n", "heard: "+m.Params.Prompt[0].Text+". "); err != nil {
				break
			}
			if !strings.HasPrefix(m.Params.Prompt[0].Text, "ask") {
				err = end("end_turn")
				break
			}
			id := fmt.Sprintf("req-%d", asked)
			asked++
			err = out.Encode(object{"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": object{
				"sessionId": "s1", "toolCall": object{"toolCallId": "t-" + id, "title": "touch x", "kind": "execute", "status": "pending", "rawInput": object{"command": "touch x"}},
				"options": []object{{"optionId": "once", "kind": "allow_once", "name": "Allow"}, {"optionId": "reject", "kind": "reject_once", "name": "Reject"}},
			}})
		case "": // the answer
			if prompt != nil {
				err = end("end_turn")
			}
		}
		if err != nil {
			return err
		}
	}
}
