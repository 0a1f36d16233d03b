package cli

// Checks and parsing of command-line arguments.

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TextOrStdin returns the first of the given arguments, or all of stdin if there are none.
func (a *App) TextOrStdin(given []string) (string, error) {
	if len(given) > 0 {
		return given[0], nil
	}
	text, err := io.ReadAll(a.Stdin)
	return strings.TrimSuffix(string(text), "\n"), err
}

// WithoutScript drops a leading script name, which callers with a script launcher pass.
func WithoutScript(args []string) []string {
	if len(args) > 0 && strings.HasSuffix(args[0], ".js") && Exists(args[0]) {
		return args[1:]
	}
	return args
}

// Args checks the arguments of a command and names a missing or blank one.
func Args(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		for i, name := range names {
			if i >= len(given) || strings.TrimSpace(given[i]) == "" {
				return UsageError{"missing argument <" + name + ">"}
			}
		}
		if len(given) > len(names) {
			return UsageError{fmt.Sprintf("unexpected argument %q", given[len(names)])}
		}
		return nil
	}
}

// Require returns an error if an option is missing or blank.
func Require(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if strings.TrimSpace(cmd.Flag(name).Value.String()) == "" {
			return UsageError{"required option --" + name + " is missing"}
		}
	}
	return nil
}

// CompleteExecute completes the options of run:execute, which parses its own arguments.
func CompleteExecute(cmd *cobra.Command, given []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if slices.Contains(given, "--argv") || slices.Contains(given, "--") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	if len(given) > 0 && isOption(cmd, given[len(given)-1]) {
		last := len(given) - 1
		words, ok := cmd.GetFlagCompletionFunc(strings.TrimPrefix(given[last], "--"))
		if !ok || cmd.Flags().Parse(given[:last]) != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return words(cmd, cmd.Flags().Args(), toComplete)
	}
	if !strings.HasPrefix(toComplete, "-") {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name+"\t"+f.Usage) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// SplitArgv separates the words of --argv from the other arguments.
func SplitArgv(cmd *cobra.Command, given []string) (rest, argv []string) {
	for i := 0; i < len(given); i++ {
		word := given[i]
		first, joined := strings.CutPrefix(word, "--argv=")
		switch {
		case word == "--":
			return rest, append(argv, given[i+1:]...)
		case joined:
			argv = append(argv, first)
		case word != "--argv":
			rest = append(rest, word)
			continue
		}
		for i+1 < len(given) && given[i+1] != "--" && !isOption(cmd, given[i+1]) {
			i++
			argv = append(argv, given[i])
		}
	}
	return rest, argv
}

func isOption(cmd *cobra.Command, word string) bool {
	name, ok := strings.CutPrefix(word, "--")
	name, _, _ = strings.Cut(name, "=")
	return ok && cmd.Flags().Lookup(name) != nil
}

// OneOf returns an error for a word that is not among those of an option.
func OneOf(option, word string, words []string) error {
	if !slices.Contains(words, word) {
		return UsageError{"--" + option + " must be one of " + strings.Join(words, ", ")}
	}
	return nil
}

// Parts splits the comma-separated value of an option into trimmed, non-empty words.
func Parts(text string) (list []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}

// Exists reports whether there is a file or folder with a name.
func Exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
