package provider

// The command lines of agents that are spoken with.

import (
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/runs/agent"
	"ac/workspace/doc"
)

// LiveCall is how an agent is started that is to be spoken with.
type LiveCall struct {
	Provider string
	Driver   string
	Argv     []string // that somebody named, of an ACP agent alone
	Model    string
	Mode     string // of the run
	Resume   string // the conversation to go on with, of claude alone
	Servers  string // the file that names its MCP servers, "" for none, of claude alone
	Trusted  bool   // the working directory is one that somebody chose who may
}

// modelWord stands for the model in the words of an agent.
const modelWord = "{MODEL}"

// Words are the words of an agent that is spoken with. The error is
// fault.NoAgentCommand where nobody named those of an ACP agent.
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
			argv = append(argv, "--mcp-config="+c.Servers) // it takes a list: the option must not swallow what follows
		}
		return slices.Concat(argv, option("--model", ModelFlag(c.Model)), option("--resume", c.Resume)), nil
	}
	if c.Driver == doc.LiveCommand { // the prompt is put in for each turn
		return withModel(c.Argv, c.Model), nil
	}
	argv := c.Argv
	if len(argv) == 0 {
		argv = machine.AgentCommands[c.Provider]
	}
	if known := doc.ProviderNamed(c.Provider); len(argv) == 0 && len(known.LiveWords) > 0 {
		argv = []string{bin}
		if known.Driver == Gemini && c.Trusted {
			argv = append(argv, "--skip-trust")
		}
		argv = append(argv, known.LiveWords...)
	}
	if len(argv) == 0 {
		return nil, fault.New(fault.NoAgentCommand, "no command line is known of provider %s: set one by machine:set-agent-command, or launch it with one", c.Provider)
	}
	return withModel(argv, c.Model), nil
}

// withModel puts the model into words. One that is nothing but the model is left out
// where there is none.
func withModel(argv []string, model string) (words []string) {
	for _, word := range argv {
		if word != modelWord || model != "" {
			words = append(words, strings.ReplaceAll(word, modelWord, model))
		}
	}
	return words
}
