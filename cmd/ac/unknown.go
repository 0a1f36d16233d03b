package main

// Unknown commands: suggesting the ones that were probably meant.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// typos is the edit distance up to which a command is suggested.
const typos = 2

// unknownCommand suggests commands with similar names, else those of the same
// noun.
func unknownCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = typos
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
