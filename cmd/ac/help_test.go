package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"ac/cmd/ac/cli"
)

// TestEveryCommandExplainsItself checks that every command has a summary, an example that names
// it, and descriptions of its options.
func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	root := newRoot(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard})
	for _, cmd := range root.Commands() {
		if !cmd.Runnable() || cmd.Hidden {
			continue
		}
		t.Run(cmd.Name(), func(t *testing.T) {
			t.Parallel()
			if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
				t.Errorf("summary %q: one line without a full stop", cmd.Short)
			}
			if !strings.Contains(cmd.Example, "ac "+cmd.Name()) {
				t.Errorf("example %q does not show %s", cmd.Example, cmd.Name())
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Usage == "" {
					t.Errorf("--%s is not explained", f.Name)
				}
			})
		})
	}
}

// TestEveryJSONCommandTakesJSON checks that every command that prints JSON according to
// docs/scripting.md accepts --json. It also checks that the page lists all commands that always
// print JSON.
func TestEveryJSONCommandTakesJSON(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/scripting.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard})
	told := map[string]bool{}
	for line := range strings.SplitSeq(string(doc), "\n") {
		names, output, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | ")
		if !ok || !strings.Contains(output, "JSON") {
			continue
		}
		for name := range strings.SplitSeq(names, "`, `") {
			told[name] = true
			if name == "run:execute" || name == "agent:self-improve-cycle" {
				continue // --json may belong to the command line that they run
			}
			cmd, _, err := root.Find([]string{name})
			if err != nil || cmd.Flags().Lookup("json") == nil {
				t.Errorf("%s prints JSON and does not take --json (%v)", name, err)
			}
		}
	}
	for _, name := range jsonOnly() {
		if !told[name] {
			t.Errorf("docs/scripting.md does not tell that %s prints JSON", name)
		}
	}
}
