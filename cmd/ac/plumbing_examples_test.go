package main

// Tests that run the examples in the help of all other commands, with real ids.

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// exampleID matches an id in an example, and the option that it belongs to, if any.
var exampleID = regexp.MustCompile(`(?:--([a-z-]+) )?\b(local_run|proj|agent|run|task|ms|art|job|team|help|share|cp|int)_(?:[0-9A-Z]{26}|1\b)`)

// plumbingExamples returns the command lines in the help of cmd, with continued lines joined.
func plumbingExamples(cmd *cobra.Command) []string {
	text := strings.ReplaceAll(cmd.Example, "\\\n", " ")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestExamplesOfPlumbing(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	ids := map[string]string{}
	said, err := w.shell(t, "", plumbingWorld)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	printedIDs(said, ids)
	if said, err := w.shell(t, "", "mkdir "+untouched+"; cp -R acme shop "+untouched); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Run("each", func(t *testing.T) { w.plumbAll(t, ids) })
	if files := checkLayout(t, filepath.Join(w.dir, "acme"), formatsLayout(t)); files < 100 {
		t.Errorf("the examples left %d files", files)
	}
	// Stop the jobs and runs that examples started before their folder is deleted.
	if said, err := w.shell(t, "", "ac session:stop acme --all"); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// plumbAll runs the examples of all commands except short ones and those in plumbingLeftOut.
func (w *world) plumbAll(t *testing.T, ids map[string]string) {
	leftOut := slices.Collect(maps.Keys(plumbingLeftOut()))
	root := newRoot(&cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard})
	for _, cmd := range root.Commands() {
		if cli.IsShort(cmd) || !cmd.IsAvailableCommand() || !strings.Contains(cmd.Name(), ":") {
			continue
		}
		lines := plumbingExamples(cmd)
		if len(lines) == 0 {
			t.Errorf("ac %s has no example", cmd.Name())
		}
		for i, line := range lines {
			if slices.ContainsFunc(leftOut, func(begin string) bool { return strings.HasPrefix(line, begin) }) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", cmd.Name(), i), func(t *testing.T) {
				t.Parallel()
				w.plumb(t, maps.Clone(ids), cmd.Name(), line)
			})
		}
	}
}

// printedIDs adds the NAME=ID lines of a script's output to ids.
func printedIDs(said string, ids map[string]string) {
	for line := range strings.SplitSeq(said, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			ids[name] = value
		}
	}
}

// plumb runs an example. It uses a copy of the world if the command is in plumbingNeeds, because
// the example needs a setup or conflicts with others.
func (w *world) plumb(t *testing.T, ids map[string]string, name, line string) {
	at := ""
	needs, apart := plumbingNeeds()[name]
	if apart {
		at = w.copied(t)
		said, err := w.shell(t, at, idWords+"P="+ids["proj"]+"\n"+needs)
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		printedIDs(said, ids)
	}
	line = exampleID.ReplaceAllStringFunc(line, func(found string) string {
		parts := exampleID.FindStringSubmatch(found)
		for _, key := range []string{name + "+" + parts[2], parts[1], parts[2]} {
			if id, ok := ids[key]; ok {
				return found[:strings.LastIndex(found, parts[2]+"_")] + id
			}
		}
		t.Errorf("there is no %s for the example", parts[2])
		return found
	})
	line = strings.NewReplacer("--project P ", "--project "+ids["proj"]+" ", "--run R ", "--run "+ids["run"]+" ").Replace(line)
	said, err := w.shell(t, at, "{ "+line+"; } </dev/null")
	if err != nil && !slices.Contains(failing(), name) {
		t.Errorf("%s: %v\n%s", line, err, said)
	}
	if afterwards, ok := plumbingAfterwards()[name]; ok {
		if said, err := w.shell(t, at, "P="+ids["proj"]+"\n"+afterwards); err != nil {
			t.Errorf("%s: %v\n%s", afterwards, err, said)
		}
	}
	if acme := filepath.Join(w.dir, at, "acme"); apart {
		checkLayout(t, acme, formatsLayout(t))
	}
}

// untouched is the folder with the world as it was before any example ran.
const untouched = "untouched"

// copied copies the untouched world and returns the copy's path relative to the world's folder.
func (w *world) copied(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "in")
	for _, folder := range []string{"acme", "shop"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(w.dir, untouched, folder))); err != nil {
			t.Fatal(err)
		}
	}
	at, err := filepath.Rel(w.dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// failing returns the commands whose examples may exit with another status than 0.
func failing() []string { return []string{"run:execute"} }
