package main

// A scripted agent that uses tools: it speaks the protocol of codex app-server, starts the MCP
// server from its configuration, and calls the tools that its prompt names.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolAgentWord makes the test binary act as the agent. A prompt is a list of calls separated by
// " | ": each is the name of a tool and its arguments. The call "kill" kills the MCP server; the
// next call starts it again.
const toolAgentWord = "app-server"

type toolAgent struct {
	command string
	args    []string
	server  *exec.Cmd
	client  *sdk.ClientSession
}

func (a *toolAgent) say(frame string, args ...any) { fmt.Printf(frame+"\n", args...) }

func (a *toolAgent) take(line []byte) error {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Input []struct {
				Text string `json:"text"`
			} `json:"input"`
			Config struct {
				Servers map[string]struct {
					Command string   `json:"command"`
					Args    []string `json:"args"`
				} `json:"mcp_servers"`
			} `json:"config"`
		} `json:"params"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	switch m.Method {
	case "initialize":
		a.say(`{"id":%s,"result":{"userAgent":"agentcompany/1 (script)"}}`, m.ID)
	case "thread/start", "thread/resume":
		a.command, a.args = m.Params.Config.Servers["ac"].Command, m.Params.Config.Servers["ac"].Args
		a.say(`{"id":%s,"result":{"thread":{"id":"th"}}}`, m.ID)
	case "turn/start":
		a.say(`{"id":%s,"result":{"turn":{"id":"tu"}}}`, m.ID)
		for i, step := range strings.Split(m.Params.Input[0].Text, " | ") {
			said, _ := json.Marshal(a.step(step))
			a.say(`{"method":"item/completed","params":{"threadId":"th","item":{"type":"agentMessage","id":"m%s_%d","text":%s}}}`, m.ID, i, said)
		}
		a.say(`{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"tu","status":"completed"}}}`)
	}
	return nil
}

// step performs one call and returns the agent's message about it.
func (a *toolAgent) step(step string) string {
	ctx := context.Background()
	name, arguments, _ := strings.Cut(step, " ")
	if name == "kill" {
		err := a.server.Process.Signal(syscall.SIGKILL)
		_ = a.client.Close() // fails: the server is gone
		a.client = nil
		return fmt.Sprint("killed: ", err)
	}
	if a.client == nil {
		if a.command == "" {
			return "no server"
		}
		a.server = exec.Command(a.command, a.args...)
		a.server.Env = []string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")} // codex passes on few variables
		client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
		var err error
		if a.client, err = client.Connect(ctx, &sdk.CommandTransport{Command: a.server}, nil); err != nil {
			return "no server: " + err.Error()
		}
	}
	var given json.RawMessage
	if arguments != "" {
		given = json.RawMessage(arguments)
	}
	result, err := a.client.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: given})
	if err != nil {
		return name + ": " + err.Error()
	}
	text := ""
	for _, c := range result.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			text += t.Text
		}
	}
	return name + ": " + text
}

// agentMain runs the agent and returns its exit status.
func agentMain() int {
	a := &toolAgent{}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	for in.Scan() {
		if err := a.take(in.Bytes()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if a.client != nil {
		_ = a.client.Close() // the agent ends anyway
	}
	return 0
}
