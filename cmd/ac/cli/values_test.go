package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// TestValues parses command lines with multi-value options.
func TestValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		given              []string
		insert, argv, rest []string
		title              string
		fails              bool
	}{
		{given: []string{"dir", "--insert", "- a", "b", "--title", "t"}, insert: []string{"- a", "b"}, rest: []string{"dir"}, title: "t"},
		{given: []string{"dir", "--insert=x", "--insert", "y", "-", "- z"}, insert: []string{"x", "y", "-", "- z"}, rest: []string{"dir"}},
		{given: []string{"--title", "--insert", "dir"}, title: "--insert", rest: []string{"dir"}},
		{given: []string{"dir", "--argv", "sh", "-c", "exit 3", "--title", "t"}, argv: []string{"sh", "-c", "exit 3"}, rest: []string{"dir"}, title: "t"},
		{given: []string{"dir", "--argv", "go", "test", "--", "-run", "--unknown", "--title=t"}, argv: []string{"go", "test", "--", "-run", "--unknown"}, rest: []string{"dir"}, title: "t"},
		{given: []string{"--flag", "dir", "--insert", ""}, insert: []string{""}, rest: []string{"dir"}},
		{given: []string{"--", "--insert", "a"}, rest: []string{"--insert", "a"}},
		{given: []string{"--title", "--flag=x", "dir"}, title: "--flag=x", rest: []string{"dir"}},
		{given: []string{"--", "--flag=true"}, rest: []string{"--flag=true"}},
		{given: []string{"dir", "--flag=true"}, fails: true},
		{given: []string{"--insert", "a", "--flag=false"}, fails: true},
		{given: []string{"dir", "--insert"}, fails: true},
		{given: []string{"dir", "--insert", "a", "-b"}, fails: true},
		{given: []string{"dir", "--insert", "--flag"}, fails: true},
		{given: []string{"dir", "--insert", "-bad", "b"}, fails: true},
	} {
		var insert, argv, rest []string
		title, flag := "", false
		root := &cobra.Command{Use: "ac", SilenceErrors: true, SilenceUsage: true}
		cmd := &cobra.Command{Use: "do", RunE: func(_ *cobra.Command, given []string) error {
			rest = given
			return nil
		}}
		ValuesVar(cmd, &insert, "insert", "")
		CommandLineVar(cmd, &argv, "argv", "")
		cmd.Flags().StringVar(&title, "title", "", "")
		cmd.Flags().BoolVar(&flag, "flag", false, "")
		root.AddCommand(cmd)
		args, err := expandMulti(root, append([]string{"do"}, c.given...))
		if root.SetArgs(args); err == nil {
			err = root.Execute()
		}
		if c.fails {
			if err == nil {
				t.Errorf("%q was taken: insert %q, rest %q", c.given, insert, rest)
			}
			continue
		}
		if err != nil || !slices.Equal(insert, c.insert) || !slices.Equal(argv, c.argv) || !slices.Equal(rest, c.rest) || title != c.title {
			t.Errorf("%q: insert %q, argv %q, rest %q, title %q: %v", c.given, insert, argv, rest, title, err)
		}
	}
}
