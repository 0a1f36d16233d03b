package main

// Unknown commands: suggesting the ones that were probably meant.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// typos is the edit distance up to which a command is suggested.
const typos = 2

// unknownCommand suggests commands with similar names, else those of the same
// noun.
func unknownCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = typos
	if meant := shortFor(name); meant != "" {
		return usageError{fmt.Sprintf("unknown command %q; did you mean %s?", name, meant)}
	}
	noun, _, verb := strings.Cut(name, ":")
	if near := root.SuggestionsFor(name); verb && len(near) > 0 && len(near) <= 3 {
		return usageError{fmt.Sprintf("unknown command %q; did you mean %s?", name, strings.Join(near, " or "))}
	}
	var same []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), noun+":") {
			same = append(same, c.Name())
		}
	}
	if len(same) > 0 {
		return usageError{fmt.Sprintf("unknown command %q; %s has: %s", name, noun, strings.Join(same, ", "))}
	}
	return usageError{fmt.Sprintf("unknown command %q (see: ac --help)", name)}
}

// shortFor is the short command for a word that other programs have for it, "" for none.
func shortFor(word string) string {
	switch word {
	case "runs", "list", "ls", "run:ls":
		return "ps"
	case "tail", "output":
		return "logs"
	case "kill", "cancel", "rm":
		return "stop"
	case "merge", "apply":
		return "land"
	}
	return ""
}

// unknownFlag is the message for an option that a command does not have. Short commands
// name one that was probably meant.
func unknownFlag(cmd *cobra.Command, message string) string {
	given, unknown := strings.CutPrefix(message, "unknown flag: --")
	if cmd.Annotations[shortKind] == "" || !unknown {
		return message
	}
	near := ""
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if near == "" && editDistance(f.Name, given) <= typos {
			near = "; did you mean --" + f.Name + "?"
		}
	})
	return fmt.Sprintf("unknown flag --%s%s (ac %s --help)", given, near, cmd.Name())
}
