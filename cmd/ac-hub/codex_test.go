package main

// A scripted codex: it speaks the protocol of codex app-server and follows its prompt.

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ac/cmd/ac/mcp"
	operations "ac/company"
	"ac/runs/grant"
	"ac/workspace"
)

// serveMCP stands in for ac mcp:serve --grant FILE.
func serveMCP(file string) error {
	client, err := grant.Open(context.Background(), file)
	if err != nil {
		return err
	}
	host := operations.New(operations.Options{Env: workspace.SystemEnv()})
	return (&mcp.Server{Host: host, Client: client, Version: "1"}).Toolbox().Serve(context.Background(), os.Stdin, os.Stdout)
}

// codexServer is the configuration of an MCP server that the agent receives.
type codexServer struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

type codex struct {
	servers map[string]codexServer
	client  *sdk.ClientSession
}

// playCodex stands in for codex: login status, version, exec and the app server.
func playCodex(args []string) int {
	switch {
	case slices.Equal(args, []string{"login", "status"}):
		fmt.Println("Logged in using ChatGPT")
	case slices.Contains(args, "--version"):
		fmt.Println("codex-cli 0.99.0")
	case len(args) > 0 && args[0] == "exec":
		fmt.Println(`{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}`)
	case slices.Contains(args, "app-server"):
		a := &codex{}
		in := bufio.NewScanner(os.Stdin)
		in.Buffer(nil, 8<<20)
		for in.Scan() {
			if err := a.take(in.Bytes(), args); err != nil {
				return exitCode(err)
			}
		}
		if a.client != nil {
			_ = a.client.Close() // the MCP server ends with the agent
		}
	}
	return 0
}

func (a *codex) take(line []byte, args []string) error {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Model string `json:"model"`
			Input []struct {
				Text string `json:"text"`
			} `json:"input"`
			Config struct {
				Servers map[string]codexServer `json:"mcp_servers"`
			} `json:"config"`
		} `json:"params"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	switch m.Method {
	case "initialize":
		fmt.Printf("{\"id\":%s,\"result\":{\"userAgent\":\"codex/1 (script)\"}}\n", m.ID)
	case "thread/start", "thread/resume":
		a.servers = m.Params.Config.Servers
		fmt.Printf("{\"id\":%s,\"result\":{\"thread\":{\"id\":\"th\"}}}\n", m.ID)
	case "turn/start":
		fmt.Printf("{\"id\":%s,\"result\":{\"turn\":{\"id\":\"tu\"}}}\n", m.ID)
		for i, step := range strings.Split(m.Params.Input[0].Text, " | ") {
			said, err := json.Marshal(a.step(step, args))
			if err != nil {
				return err
			}
			fmt.Printf("{\"method\":\"item/completed\",\"params\":{\"threadId\":\"th\",\"item\":{\"type\":\"agentMessage\",\"id\":\"m%d\",\"text\":%s}}}\n", i, said)
		}
		fmt.Println(`{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"tu","status":"completed"}}}`)
	}
	return nil
}

// step executes one step of the prompt: a command of this script or a call of an ac tool.
func (a *codex) step(step string, args []string) string {
	name, given, _ := strings.Cut(step, " ")
	switch name {
	case "length":
		return fmt.Sprint(len(given))
	case "words":
		return strings.Join(args, " ")
	case "variable":
		return given + "=" + os.Getenv(given)
	case "servers":
		text, err := json.Marshal(a.servers)
		return fmt.Sprint(string(text), err)
	case "attached":
		files, _ := filepath.Glob(filepath.Join(os.Getenv("AC_CONTEXT_DIR"), "attachments", "*"+given))
		text := ""
		for _, file := range files {
			content, err := os.ReadFile(file)
			text += fmt.Sprint(string(content), err)
		}
		return text
	}
	client, err := a.connect()
	if err != nil {
		return "no tools: " + err.Error()
	}
	if name == "tools" {
		list, err := client.ListTools(context.Background(), nil)
		if err != nil {
			return err.Error()
		}
		text := ""
		for _, tool := range list.Tools {
			text += tool.Name + " "
		}
		return text
	}
	result, err := client.CallTool(context.Background(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(given)})
	if err != nil {
		return name + ": " + err.Error()
	}
	text := ""
	for _, c := range result.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			text += t.Text
		}
	}
	return text
}

func (a *codex) connect() (*sdk.ClientSession, error) {
	if a.client != nil {
		return a.client, nil
	}
	server := a.servers["ac"]
	if server.Command == "" {
		return nil, os.ErrNotExist
	}
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // as codex does
	var err error
	a.client, err = sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(context.Background(), &sdk.CommandTransport{Command: cmd}, nil)
	return a.client, err
}
