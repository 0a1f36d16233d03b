package main

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"ac/cmd/ac/cli"
)

// notLookedUp returns the options that name something with an id but are not looked up, with the
// reason.
func notLookedUp() map[string]string {
	return map[string]string{
		"ctx":          "a context pack is known by its run",
		"repo":         "the id of a repository is its name",
		"target-repo":  "the id of a repository is its name",
		"eval-repo":    "the id of a repository is its name",
		"evidence":     "files beside artifacts, which may not be there yet",
		"tests":        "files beside artifacts, which may not be there yet",
		"statement-id": "of the provider, or made now",
		"message-id":   "chosen by the caller",
		"option":       "of the question that is answered",
		"workflow":     "the id of a workflow is its name",

		"job:submit --job":          "made now",
		"job:submit --worker":       "a kind of program",
		"workflow:run --run":        "made now",
		"audit:verify --checkpoint": "a file",
		"memory:delta --target":     "a file",
	}
}

// TestEveryIDOptionTakesNames checks that every option or argument that names a recorded thing is
// looked up, or has a reason in notLookedUp.
func TestEveryIDOptionTakesNames(t *testing.T) {
	t.Parallel()
	things := regexp.MustCompile(`^(project|agent|team|run|task|tasks|milestone|artifact|job|assignee|worker|manager|actor|interaction|share|target)(-|$)`)
	ids := regexp.MustCompile(`\b(id|ids) of\b`)
	used := map[string]bool{}
	for _, cmd := range newRoot(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}).Commands() {
		if !cli.TakesNames(cmd) {
			continue
		}
		if words := strings.Fields(cmd.Use); len(words) > 2 && cli.ArgumentKind(cmd) == "" && ids.MatchString("id of "+words[2]) {
			switch strings.Trim(words[2], "<[]>") {
			case "prompt", "out", "workflow", "host", "query":
			case "worker", "--worker", "options", "key=value...": // the hub looks up machines
			default:
				t.Errorf("%s: the argument %s is not looked up", cmd.Name(), words[2])
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "string" && f.Value.Type() != "stringArray" && f.Value.Type() != "value.." || cli.KindOf(cmd.Name(), f.Name) != "" {
				return
			}
			for _, key := range []string{f.Name, cmd.Name() + " --" + f.Name} {
				if notLookedUp()[key] != "" {
					used[key] = true
					return
				}
			}
			if ids.MatchString(f.Usage) || things.MatchString(f.Name) && !regexp.MustCompile(`-(role|name|kind)$`).MatchString(f.Name) {
				t.Errorf("%s --%s (%s) is not looked up", cmd.Name(), f.Name, f.Usage)
			}
		})
	}
	for key := range notLookedUp() {
		if !used[key] && key != "audit:verify --checkpoint" {
			t.Errorf("no command has the option %s", key)
		}
	}
}
