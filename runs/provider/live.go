package provider

// Command lines of live agents: those that ac drives through a protocol.

import (
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/runs/agent"
	"ac/workspace/doc"
)

// LiveCall holds the parameters of a live agent's command line.
type LiveCall struct {
	Provider string
	Driver   string
	Argv     []string // the caller's own command line, for ACP and command agents only
	Model    string
	Mode     string // of the run
	Resume   string // the conversation to resume, claude only
	Servers  string // the file that lists its MCP servers, "" for none, claude only
	Trusted  bool   // an authorized person chose the working directory
}

// modelWord is the placeholder of the model in a command line.
const modelWord = "{MODEL}"

// Words returns the command line of a live agent. The error is fault.NoAgentCommand if no
// command line is known for an ACP agent.
func (c LiveCall) Words(machine doc.Machine) ([]string, error) {
	bin := Binary(machine, c.Provider)
	switch c.Driver {
	case doc.LiveCodex:
		return []string{bin, "app-server"}, nil
	case doc.LiveClaude:
		argv := []string{
			bin, "--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
			"--replay-user-messages", "--permission-prompt-tool", "stdio", "--permission-mode", agent.ClaudeMode(c.Mode),
		}
		if c.Servers != "" {
			argv = append(argv, "--mcp-config="+c.Servers) // a list: it must not swallow the next word
		}
		return slices.Concat(argv, option("--model", ModelFlag(c.Model)), option("--resume", c.Resume)), nil
	}
	if c.Driver == doc.LiveCommand { // each turn fills in its prompt
		return withModel(c.Argv, c.Model), nil
	}
	argv := c.Argv
	if len(argv) == 0 {
		argv = machine.AgentCommands[c.Provider]
	}
	if known := doc.ProviderNamed(c.Provider); len(argv) == 0 && len(known.LiveArgs) > 0 {
		argv = []string{bin}
		if known.Driver == Gemini && c.Trusted {
			argv = append(argv, "--skip-trust")
		}
		argv = append(argv, known.LiveArgs...)
	}
	if len(argv) == 0 {
		return nil, fault.New(fault.NoAgentCommand, "no command line is known of provider %s: set one by machine:set-agent-command, or launch it with one", c.Provider)
	}
	return withModel(argv, c.Model), nil
}

// withModel replaces the placeholder of the model. Without a model, it drops the words that are
// only the placeholder.
func withModel(argv []string, model string) (words []string) {
	for _, word := range argv {
		if word != modelWord || model != "" {
			words = append(words, strings.ReplaceAll(word, modelWord, model))
		}
	}
	return words
}
