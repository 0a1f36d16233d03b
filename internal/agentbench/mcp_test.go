//go:build agents

package agentbench

// The tools of ac in the hands of the real agents: each starts `ac mcp:serve` by its
// own configuration, as a session tells it to.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/runs/grant"
	"ac/runs/grant/granttest"
	"ac/runs/interaction"
)

// mcpAgents are the words of each agent with an MCP server: a command in an
// environment that has the configuration.
func mcpAgents() map[string]func(c *company, command []string) []string {
	text := func(v any) string {
		text, _ := json.Marshal(v)
		return string(text)
	}
	return map[string]func(*company, []string) []string{
		"codex": func(_ *company, command []string) []string {
			return append(words("codex exec --skip-git-repo-check --sandbox read-only --json"),
				"-c", "mcp_servers.ac.command="+text(command[0]), "-c", "mcp_servers.ac.args="+text(command[1:]), "-")
		},
		"claude": func(c *company, command []string) []string {
			file, err := grant.WriteConfig(c.home, granttest.Socket, command[0], command[1:])
			if err != nil {
				c.t.Fatal(err)
			}
			return append(words("claude --print --output-format stream-json --verbose --strict-mcp-config"),
				"--mcp-config="+file, "--allowedTools=mcp__ac__who_am_i,mcp__ac__ask_human")
		},
		"gemini": func(c *company, command []string) []string {
			c.setting(".gemini/settings.json", func(settings object) {
				settings["mcpServers"] = object{"ac": object{"command": command[0], "args": command[1:]}}
			})
			return words("gemini --skip-trust --approval-mode=yolo --output-format stream-json")
		},
		"opencode": func(c *company, command []string) []string {
			c.setting(".config/opencode/opencode.json", func(settings object) {
				settings["mcp"] = object{"ac": object{"type": "local", "command": command, "enabled": true}}
			})
			return words("opencode run --format json")
		},
	}
}

// setting changes a JSON file of the agent's configuration.
func (c *company) setting(name string, change func(object)) {
	c.t.Helper()
	file := filepath.Join(c.home, name)
	text, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	var settings object
	if err := json.Unmarshal(text, &settings); err != nil {
		c.t.Fatal(err)
	}
	change(settings)
	if text, err = json.Marshal(settings); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// mcpCall is a call of a tool of ac by the name that the agent has for it.
func mcpCall(r Request, tool string, arguments object) Call {
	if slices.Contains(r.Tools, "exec") { // codex runs a script that calls its tools
		text, _ := json.Marshal(arguments)
		return Call{Name: "exec", Args: fmt.Sprintf("text(JSON.stringify(await tools.mcp__ac__%s(%s)))", tool, text)}
	}
	for _, name := range r.Tools {
		if strings.HasSuffix(name, tool) && strings.Contains(name, "ac") {
			return Call{Name: name, Args: arguments}
		}
	}
	if r.API == Messages { // claude offers such tools once the model looks for them
		return Call{Name: "mcp__ac__" + tool, Args: arguments}
	}
	return Call{Name: tool, Space: "mcp__ac", Args: arguments}
}

// TestToolsOfAC shows that each agent starts the server, asks who it is, asks a person
// and reads the answer.
func TestToolsOfAC(t *testing.T) {
	t.Parallel()
	for name, words := range mcpAgents() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t, kind{name: name, provider: name}, func(r Request) Reply {
				if reply, ok := Bookkeeping(r, Usage{}); ok {
					return reply
				}
				switch r.Step() {
				case 0:
					return Reply{Calls: []Call{mcpCall(r, "who_am_i", object{})}}
				case 1:
					return Reply{Calls: []Call{mcpCall(r, "ask_human", object{"question": "Which host?", "wait_ms": 20000})}}
				}
				return Reply{Text: "done"}
			})
			sockets, err := os.MkdirTemp("", "ac-b") //nolint:usetesting // the path of a socket is short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(sockets) })
			supervisor := &granttest.Supervisor{Now: time.Now, Who: grant.Identity{
				WorkspaceDir: c.dir, ProjectID: c.project, RunID: "run_of_" + name, AgentID: c.agent, WorkingDir: c.home, PermissionLevel: "patch", Mode: "default", Interactive: true,
			}}
			file := supervisor.Serve(t, sockets)
			out := c.speak(words(c, []string{acBinary, "mcp:serve", "--grant", file}), supervisor)
			told := ""
			for _, r := range c.model.Requests() {
				told += strings.Join(r.Results, "\n")
			}
			if !strings.Contains(told, "run_of_"+name) || !strings.Contains(told, "staging-7") {
				t.Errorf("the model heard %.3000s\nthe agent said %.3000s", told, out)
			}
		})
	}
}

// speak runs an agent until it ends, while a person answers what it asks.
func (c *company) speak(argv []string, supervisor *granttest.Supervisor) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(cliDir, argv[0]), argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin = append(slices.Clone(c.environ), "PWD="+c.home), c.home, strings.NewReader("Who are you?")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			if _, asked := supervisor.Asked("int_A"); asked {
				words := "staging-7"
				supervisor.Resolve(c.t, "int_A", &interaction.Answer{Text: &words, By: "human"})
				return
			}
		}
	}()
	err := cmd.Wait()
	cancel()
	<-answered
	return fmt.Sprintf("%v: %s", err, &out)
}
