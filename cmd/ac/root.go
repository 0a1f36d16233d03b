package main

// The root command, and what all commands share.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ac/internal/fault"
	"ac/internal/terminal"
	"ac/rpc"
)

// Set by the linker for releases; commit facts are empty if unknown.
var (
	version    = "dev"
	commit     string
	commitTime string
	dirty      string
)

// buildVersion is the version of this build.
func buildVersion() string {
	if version != "dev" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "ac",
		Short:         "A control plane for companies of coding agents",
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(root *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{"missing command (see: ac --help)"}
			}
			return unknownCommand(root, args[0])
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if given := cmd.Flags().Args(); !cmd.HasParent() && len(given) > 0 {
			return unknownCommand(cmd, given[0]) // a command with unknown options
		}
		return usageError{unknownFlag(cmd, err.Error())}
	})
	root.AddCommand(slices.Concat(
		executionCommands(a), recordsCommands(a), upkeepCommands(a), serversCommands(a),
		workCommands(a), oversightCommands(a),
		[]*cobra.Command{demoCommand(a), completionCommand(a), versionCommand(a), topCommand(a)},
		releaseCommands(a),
	)...)
	takeDecimals(root)
	acceptJSON(root.Commands())
	a.prepare(root.Commands())
	root.SetHelpCommand(a.helpCommand())
	explain(root)
	return root
}

// prepare gives commands what all of them have: names in place of ids, the line that shows that
// they go on, completion.
func (a *app) prepare(commands []*cobra.Command) {
	a.takeNames(commands)
	a.showProgress(commands)
	a.completeByName(commands)
}

// fail prints an error on one line: errors in the command line with "error:",
// like option parsers, failures of the work with "ERROR:".
func (a *app) fail(command string, err error) {
	if choice, ok := errors.AsType[choiceError](err); ok {
		fmt.Fprintf(a.stderr, "ERROR: %s\n", oneLine(choice.message))
		for _, line := range choice.lines {
			fmt.Fprintf(a.stderr, "  %s\n", oneLine(line))
		}
		return
	}
	if usage, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(a.stderr, "error: %s\n", oneLine(usage.message))
		return
	}
	fmt.Fprintf(a.stderr, "ERROR: %s\n", oneLine(describe(command, err)))
	if os.Getenv("AC_DEBUG") == "1" {
		fmt.Fprintf(a.stderr, "%s", debug.Stack())
	}
}

// oneLine is a message on one line, with control characters escaped.
func oneLine(text string) string {
	return terminal.Quote(strings.ReplaceAll(strings.TrimSpace(text), "\n", "; "))
}

// issuesAsJSON reports whether a command prints the issues of params as JSON,
// which its callers expect; all others print words.
func issuesAsJSON(command string) bool {
	family, _, plumbing := strings.Cut(command, ":")
	return command == "agent:new" || plumbing && slices.Contains([]string{"workspace", "team", "project", "machine", "run", "sharepack", "worktree"}, family)
}

// describe is the message of an error, with the issue of each param.
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

// invalidParams is an error that lists the issues in words.
func invalidParams(err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Reason != fault.InvalidParams {
		return err
	}
	return errors.New(e.InFull())
}

// args checks the arguments of a command and names a missing or blank one.
func args(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		for i, name := range names {
			if i >= len(given) || strings.TrimSpace(given[i]) == "" {
				return usageError{"missing argument <" + name + ">"}
			}
		}
		if len(given) > len(names) {
			return usageError{fmt.Sprintf("unexpected argument %q", given[len(names)])}
		}
		return nil
	}
}

// require refuses missing or blank options.
func require(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if strings.TrimSpace(cmd.Flag(name).Value.String()) == "" {
			return usageError{"required option --" + name + " is missing"}
		}
	}
	return nil
}

// printJSON prints a value as indented JSON.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printLine prints a value on one line.
func (a *app) printLine(v any) error {
	text, err := rpc.Encode(v)
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "%s\n", text)
	}
	return err
}
