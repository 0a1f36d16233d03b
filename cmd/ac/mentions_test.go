package main

// Checks that the commands in the documents exist.

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// TestDocumentsNameCommandsThatAreThere checks the command and the options of each command line in
// the documents. It also checks command names that stand alone.
func TestDocumentsNameCommandsThatAreThere(t *testing.T) {
	t.Parallel()
	root := newRoot(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	nouns := map[string]bool{}
	for _, group := range plumbingGroups() {
		for _, noun := range group.members {
			nouns[noun] = true
		}
	}
	known := map[string]bool{}
	for _, cmd := range root.Commands() {
		known[cmd.Name()] = true
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	fenced := regexp.MustCompile("(?ms)^```.*?^```$")
	inFence := regexp.MustCompile(`(?m)^(?:\$ )?ac ([^\n]+)`)
	inProse := regexp.MustCompile("(?m)(?:`|^ {4,})ac ([^`\n]+)")
	alone := regexp.MustCompile("`([a-z]+:[a-z][a-z:-]*)`")
	command := regexp.MustCompile(`^[a-z]+(:[a-z-]+)*$`)
	// The options of the hub commands are in ac-hub; job:run is internal.
	elsewhere := map[string]bool{"hub:start": true, "hub:permissions": true, "job:run": true}
	lines := 0
	for _, file := range append(pages, "../../README.md", "../../SECURITY.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := filepath.Base(file)
		for _, m := range alone.FindAllStringSubmatch(string(text), -1) {
			noun, _, _ := strings.Cut(m[1], ":")
			if nouns[noun] && !known[m[1]] {
				t.Errorf("%s names %s, which is not a command", page, m[1])
			}
		}
		found := inProse.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1)
		found = append(found, inFence.FindAllStringSubmatch(strings.Join(fenced.FindAllString(string(text), -1), "\n"), -1)...)
		for _, m := range found {
			words := strings.Fields(m[1])
			if elsewhere[words[0]] {
				continue
			}
			if !known[words[0]] {
				if command.MatchString(words[0]) {
					t.Errorf("%s: there is no command ac %s", page, m[1])
				}
				continue
			}
			lines++
			checkOptions(t, root, page, words)
		}
	}
	if lines < 150 {
		t.Errorf("only %d command lines were found", lines)
	}
}

// checkOptions checks that a command has the options of a command line.
func checkOptions(t *testing.T, root *cobra.Command, page string, words []string) {
	t.Helper()
	cmd, _, err := root.Find(words[:1])
	if err != nil {
		t.Error(err)
		return
	}
	option := regexp.MustCompile(`^(--[a-z][a-z-]*|-[a-zA-Z])(=.*)?$`)
	for _, word := range words[1:] {
		if word == "--" || word == "--argv" || strings.HasPrefix(word, "#") || word == "|" || word == "&&" {
			return // what follows belongs to another program or to the shell
		}
		found := option.FindStringSubmatch(word)
		if found == nil {
			continue
		}
		name := strings.TrimLeft(found[1], "-")
		flag := cmd.Flags().Lookup(name)
		if len(name) == 1 {
			flag = cmd.Flags().ShorthandLookup(name)
		}
		if flag == nil && cmd.InheritedFlags().Lookup(name) == nil && name != "help" && name != "h" {
			t.Errorf("%s: ac %s has no option %s: %s", page, cmd.Name(), found[1], strings.Join(words, " "))
		}
	}
}
