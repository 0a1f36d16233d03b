package main

// docs/commands.md, generated from the command tree.

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// TestCommandsPage checks that docs/commands.md matches the command tree.
func TestCommandsPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/commands.md"
	want := commandsPage(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale; write it anew: go test ./cmd/ac -run TestCommandsPage -update", page)
	}
}

// commandsPage returns the page. Short commands come first, then the others by noun.
func commandsPage(t *testing.T) string {
	t.Helper()
	rows := map[string][]*cobra.Command{}
	for _, cmd := range newRoot(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}).Commands() {
		if cmd.Hidden || !cmd.Runnable() {
			continue
		}
		title := groupTitle(cmd)
		switch {
		case title == "":
			t.Errorf("%s is in no group of commands", cmd.Name())
		case cli.IsShort(cmd):
			title = shortTitle
		}
		rows[title] = append(rows[title], cmd)
	}
	var b strings.Builder
	b.WriteString(commandsHead)
	writeGroup(&b, shortTitle, rows[shortTitle])
	b.WriteString(shortHead)
	for _, g := range plumbingGroups() {
		writeGroup(&b, g.title, rows[g.title])
	}
	b.WriteString(releaseTail)
	return b.String()
}

const releaseTail = `
## For releases

Builds with the tag ` + "`man` have two more, which `scripts/release` uses: `help:man <dir>`" + ` writes the man
pages, ` + "`help:sbom <program>`" + ` prints the bill of materials of another build.
`

const shortTitle = "Short commands"

func writeGroup(b *strings.Builder, title string, list []*cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n| command | what it does |\n|---|---|\n", title)
	for _, cmd := range list {
		for _, c := range append([]*cobra.Command{cmd}, cmd.Commands()...) {
			line := strings.TrimPrefix(c.UseLine(), "ac ")
			line = strings.TrimSuffix(line, " [flags]")
			fmt.Fprintf(b, "| `%s` | %s |\n", strings.ReplaceAll(line, "|", `\|`), lowered(c.Short))
		}
	}
}

// lowered returns text with its first letter in lower case.
func lowered(text string) string { return strings.ToLower(text[:1]) + text[1:] }

const commandsHead = `# Commands

This page is generated from the command tree by
` + "`go test ./cmd/ac -run TestCommandsPage -update`" + `. ` + "`ac help COMMAND`" + ` has the options and
examples of a command.

Commands without a colon are for people: they find the workspace and the project
themselves, take names and endings of ids, and print tables. Commands with a colon are
for programs: their arguments and their output stay as they are.
`

const shortHead = `
**What a command is about.** The first that is there:

| | |
|---|---|
| workspace | ` + "`-C DIR`, `AC_WORKSPACE`" + `, the enclosing folder or its ` + "`.ac`" + `, the only one that ` + "`ac use`" + ` knows |
| project | ` + "`-p`, `AC_PROJECT`, `ac use`" + `, the only one; lists show all projects where none is chosen |
| who acts | ` + "`--as`, `AC_ACTOR`" + `, a person; an agent acts with its recorded role and team |

` + "`ac use`" + ` prints the three and where each came from. It keeps the project of a workspace in
` + "`$XDG_STATE_HOME/ac/context.json`" + `.

**Names and ids.** A word is the full id, else the whole name, else the end of an id: four
letters or more, in any case. ` + "`last`" + ` is the newest run of the project. A word that fits
several things is refused, and they are listed. Commands with a colon take names and endings,
too, in every option that names something recorded, and for ` + "`<run>`, `<conversation>`" + ` and
` + "`<session_ref>`" + `. A name that nothing has is an error, or a note on stderr where the command
answers any word.

**Output.** stdout has what was asked for, stderr everything else. In a pipe lists have
tabs between their fields, full ids and no titles; ` + "`--json`" + ` prints JSON; ` + "`-q`" + ` prints the ids
alone. Colours follow ` + "`--color`, `NO_COLOR`, `CLICOLOR_FORCE`" + ` and the terminal; long output goes
through ` + "`AC_PAGER`, `PAGER`" + ` or ` + "`less`" + `, unless ` + "`--no-pager`" + ` is there.

**Exit status**: 0 done, 1 refused, failed, or wrong use, 128 and the signal's number after a
signal.
`
