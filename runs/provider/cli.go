package provider

// What a driver is: the face that every agent CLI shows to the rest.

import (
	"errors"
	"fmt"
	"strings"
)

// CLI is one family of agent CLIs: how it is called and how it answers. Its
// implementations are immutable and safe for concurrent use.
type CLI interface {
	// ForWork is the command line of a worker's attempt.
	ForWork(w Work) (Call, error)
	// ForFilling is the command line that fills in an artifact.
	ForFilling(f Filling) Call
	// Answer reads the agent's answer from what the CLI printed. A CLI that was
	// told to write it to a file passes its content as last.
	Answer(stdout, last string) (string, error)
	// Abilities is what to ask the program to learn what it takes, and the words
	// that tell it.
	Abilities() (args []string, words AbilityWords)
}

// CLIOf is the CLI of a provider. Providers without a driver have none.
func CLIOf(provider string) (CLI, error) {
	if f, ok := familyOf(DriverOf(provider)); ok {
		return f.cli, nil
	}
	return nil, fmt.Errorf("provider %s has no driver: %w", provider, errors.ErrUnsupported)
}

// Call is a program with its words, and what it reads.
type Call struct {
	Argv []string
	// Stdin is the prompt where it does not stand in Argv, nil where nothing
	// is read.
	Stdin *string
	// Format names the format of the output, "" where the CLI has none.
	Format string
}

// Work is what a worker's attempt asks for.
type Work struct {
	Program      string
	Model        string
	Prompt       string
	Level        string // of permission
	Stream       bool   // the program prints what it does as it goes on
	Trusted      bool   // the working directory is one that somebody chose who may
	SchemaFile   string // of codex
	Files        CodexFiles
	Schema       string   // of claude
	AllowedTools []string // of claude
	Template     []string // of gemini
}

// Filling is what filling in an artifact asks for.
type Filling struct {
	Program string
	Model   string
	Prompt  string
	Last    string // the file that codex writes its answer to
	Trusted bool   // as in Work
}

// ErrNoAnswer says that output holds no answer.
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
