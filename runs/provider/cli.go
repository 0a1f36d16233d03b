package provider

// CLI: the interface of all agent CLIs.

import (
	"errors"
	"fmt"
	"strings"
)

// CLI is one family of agent CLIs: how it is called and how it answers.
// Implementations are immutable and safe for concurrent use.
type CLI interface {
	// ForWork is the command line of a worker's attempt.
	ForWork(w Work) (Call, error)
	// ForFilling is the command line that fills in an artifact.
	ForFilling(f Filling) Call
	// Answer extracts the agent's answer from its output. A CLI that writes its
	// answer to a file passes the file's content as last.
	Answer(stdout, last string) (string, error)
	// Abilities returns the arguments that make the program list its options,
	// and the words to look for there.
	Abilities() (args []string, words AbilityWords)
}

// CLIOf is the CLI of a provider. A provider without a driver has none.
func CLIOf(provider string) (CLI, error) {
	if f, ok := familyOf(DriverOf(provider)); ok {
		return f.cli, nil
	}
	return nil, fmt.Errorf("provider %s has no driver: %w", provider, errors.ErrUnsupported)
}

// Call is a command line and its input.
type Call struct {
	Argv []string
	// Stdin is the prompt if it is not in Argv; nil for no input.
	Stdin *string
	// Format is the output format that was asked for, "" if the CLI has only one.
	Format string
}

// Work are the parameters of a worker's attempt.
type Work struct {
	Program      string
	Model        string
	Prompt       string
	Level        string // of permissions
	Stream       bool   // the program can stream its progress
	Trusted      bool   // an authorized person chose the working directory
	SchemaFile   string // of codex
	Files        CodexFiles
	Schema       string   // of claude
	AllowedTools []string // of claude
	Template     []string // of gemini
}

// Filling are the parameters of filling an artifact.
type Filling struct {
	Program string
	Model   string
	Prompt  string
	Last    string // the file that codex writes its answer to
	Trusted bool   // as in Work
}

// ErrNoAnswer is returned if an output contains no answer.
var ErrNoAnswer = errors.New("the output holds no answer")

func option(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{name, value}
}

func answerOr(text string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return "", ErrNoAnswer
	}
	return text, nil
}
