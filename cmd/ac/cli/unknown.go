package cli

// Suggestions for unknown commands and options.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// typos is the maximum edit distance for a suggestion.
const typos = 2

// UnknownCommand returns an error for an unknown command. It suggests the short command that was
// probably meant, else commands with similar names, else those with the same noun.
func UnknownCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = typos
	noun, _, verb := strings.Cut(name, ":")
	var same []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), noun+":") {
			same = append(same, c.Name())
		}
	}
	near := root.SuggestionsFor(name)
	if verb && len(same) > 0 { // the noun is right
		near = slices.DeleteFunc(near, func(other string) bool { return !slices.Contains(same, other) })
	}
	hints := ""
	if meant := shortFor(root, name); meant != "" {
		hints = "; did you mean " + meant + "?"
	} else if len(near) > 0 && len(near) <= 3 && (verb || len(same) == 0) {
		return UsageError{fmt.Sprintf("unknown command %q; did you mean %s?", name, strings.Join(near, " or "))}
	}
	switch {
	case len(same) > 0 && hints != "" && !verb:
		hints += fmt.Sprintf(" %s has: %s", noun, strings.Join(same, ", "))
	case len(same) > 0 && hints == "":
		hints = fmt.Sprintf("; %s has: %s", noun, strings.Join(same, ", "))
	case hints == "":
		hints = " (see: ac --help)"
	}
	return UsageError{fmt.Sprintf("unknown command %q%s", name, hints)}
}

// shortFor returns the short command for a word that other programs use, or for the other number of
// its noun. It returns "" if there is none.
func shortFor(root *cobra.Command, word string) string {
	meant := meantBy(word)
	for _, c := range root.Commands() {
		name := c.Name()
		if IsShort(c) && (name == meant || name == word+"s" || name+"s" == word) {
			return name
		}
	}
	return ""
}

// meantBy returns the short command for a word that other programs use, "" if there is none.
func meantBy(word string) string {
	switch word {
	case "runs", "list", "ls", "run:ls":
		return "ps"
	case "tail", "output":
		return "logs"
	case "kill", "cancel", "rm":
		return "stop"
	case "new", "bootstrap":
		return "init"
	case "tui", "ui", "dashboard":
		return "top"
	case "gantt":
		return "plan"
	case "chat":
		return "talk"
	case "merge", "apply":
		return "land"
	case "usage", "spend":
		return "cost"
	case "start":
		return "run"
	}
	return ""
}

// UnknownFlag returns the message for an unknown option. For short commands it suggests the option
// that was probably meant.
func UnknownFlag(cmd *cobra.Command, message string) string {
	given, unknown := strings.CutPrefix(message, "unknown flag: --")
	letter, unknownLetter := strings.CutPrefix(message, "unknown shorthand flag: ")
	switch {
	case !IsShort(cmd):
		return message
	case unknownLetter:
		quoted, _, _ := strings.Cut(letter, " in ")
		return fmt.Sprintf("unknown flag -%s (%s --help)", strings.Trim(quoted, "'"), cmd.CommandPath())
	case !unknown:
		return message
	}
	near, distance := "", typos+1
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := editDistance(f.Name, given); d < distance {
			near, distance = "; did you mean --"+f.Name+"?", d
		}
	})
	return fmt.Sprintf("unknown flag --%s%s (%s --help)", given, near, cmd.CommandPath())
}
