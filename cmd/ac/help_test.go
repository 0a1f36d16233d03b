package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestEveryCommandExplainsItself holds every command to a summary and an
// example that names the command, and to a line in the table of the README.
func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(&app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard})
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
			if !strings.Contains(string(readme), "\n| `"+strings.ReplaceAll(cmd.Use, "|", `\|`)+"` | ") {
				t.Errorf("the table of the README has no line for %s", cmd.Use)
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Usage == "" {
					t.Errorf("--%s is not explained", f.Name)
				}
			})
		})
	}
}
