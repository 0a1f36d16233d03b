package cli

// How errors are printed.

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/internal/terminal"
	"ac/rpc"
)

// Fail prints an error on one line. Errors in the command line begin with "error:", like those of
// option parsers. Other failures begin with "ERROR:".
func (a *App) Fail(command string, err error) {
	if choice, ok := errors.AsType[ChoiceError](err); ok {
		fmt.Fprintf(a.Stderr, "ERROR: %s\n", OneLine(choice.Message))
		for _, line := range choice.Lines {
			fmt.Fprintf(a.Stderr, "  %s\n", OneLine(line))
		}
		return
	}
	if usage, ok := errors.AsType[UsageError](err); ok {
		fmt.Fprintf(a.Stderr, "error: %s\n", OneLine(usage.Message))
		return
	}
	fmt.Fprintf(a.Stderr, "ERROR: %s\n", OneLine(describe(command, err)))
	if os.Getenv("AC_DEBUG") == "1" {
		fmt.Fprintf(a.Stderr, "%s", debug.Stack())
	}
}

// OneLine returns a message on one line, with control characters escaped.
func OneLine(text string) string {
	return terminal.Quote(strings.ReplaceAll(strings.TrimSpace(text), "\n", "; "))
}

// issuesAsJSON reports whether a command prints the issues of params as JSON, as its callers
// expect. All others print sentences.
func issuesAsJSON(command string) bool {
	family, _, plumbing := strings.Cut(command, ":")
	return command == "agent:new" || plumbing && slices.Contains([]string{"workspace", "team", "project", "machine", "run", "sharepack", "worktree"}, family)
}

// describe returns the message of an error, with the issue of each param.
func describe(command string, err error) string {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Reason != fault.InvalidParams {
		return err.Error()
	}
	if issuesAsJSON(command) {
		if text, err := rpc.Encode(e.Issues); err == nil {
			return string(text)
		}
	}
	return e.InFull()
}

// InvalidParams converts an error of params to one that lists the issues in sentences.
func InvalidParams(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Reason != fault.InvalidParams {
		return err
	}
	return errors.New(e.InFull())
}
