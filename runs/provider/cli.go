package provider

// CLI is the interface of all agent CLIs.

import (
	"errors"
	"fmt"
	"strings"
)

// CLI drives one family of agent CLIs: it builds command lines and parses answers.
// Implementations are immutable and safe for concurrent use.
type CLI interface {
	// ForWork returns the command line of a worker's attempt.
	ForWork(w Work) (Call, error)
	// ForFilling returns the command line that fills in an artifact.
	ForFilling(f Filling) Call
	// Answer extracts the agent's answer from its stdout. For a CLI that writes its answer to a
	// file, last is that file's content.
	Answer(stdout, last string) (string, error)
	// Abilities returns the arguments that make the program list its options, and the words to
	// search for in that list.
	Abilities() (args []string, words AbilityWords)
}

// CLIOf returns the CLI of a provider. It returns errors.ErrUnsupported for a provider without a
// driver.
func CLIOf(provider string) (CLI, error) {
	if f, ok := familyOf(DriverOf(provider)); ok {
		return f.cli, nil
	}
	return nil, fmt.Errorf("provider %s has no driver: %w", provider, errors.ErrUnsupported)
}

// Call is a command line and its input.
type Call struct {
	Argv []string
	// Stdin is the prompt if Argv does not contain it; nil for no input.
	Stdin *string
	// Format is the requested output format, "" if the CLI has only one.
	Format string
}

// Work holds the parameters of a worker's attempt.
type Work struct {
	Program      string
	Model        string
	Prompt       string
	Level        string // permission level
	Stream       bool   // the program can stream its progress
	Trusted      bool   // an authorized person chose the working directory
	SchemaFile   string // codex only
	Files        CodexFiles
	Schema       string   // claude only
	AllowedTools []string // claude only
	Template     []string // the agent's own command line, if any
}

// Filling holds the parameters of filling in an artifact.
type Filling struct {
	Program string
	Model   string
	Prompt  string
	Last    string // the file that codex writes its answer to
	Trusted bool   // as in Work
}

// ErrNoAnswer reports that an output contains no answer.
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
