package changes_test

// Rename detection among a run's changes.

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"ac/runs/changes"
)

func made(name string) changes.File    { return changes.File{Path: name, NewMode: "100644"} }
func deleted(name string) changes.File { return changes.File{Path: name, OldMode: "100644"} }

func TestRenames(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	text := long.String()
	edited := strings.Replace(text, "line 7\n", "another line\n", 1)
	var r changes.Renames
	note := func(f changes.File, text string) {
		c := changes.Content{New: []byte(text)}
		if f.NewMode == "" {
			c = changes.Content{From: []byte(text)}
		}
		r.Note(f, c)
	}
	note(deleted("a.go"), text)
	note(deleted("b.bin"), "\x00\x01\x02")
	note(deleted("c.txt"), "nothing of it is left\n")
	note(deleted("empty"), "")
	note(made("copy/a.go"), edited) // less similar than the next one
	note(made("moved/a.go"), text)  // identical
	note(made("moved/b.bin"), "\x00\x01\x02")
	note(made("c.md"), "all of it is new\n")
	note(made("moved/empty"), "")
	r.Note(changes.File{Path: "changed", OldMode: "100644", NewMode: "100644"}, changes.Content{From: []byte(text), New: []byte(text)})
	r.Note(changes.File{Path: "link", NewMode: "120000"}, changes.Content{})
	want := map[string]string{"moved/a.go": "a.go", "moved/b.bin": "b.bin"}
	if got := r.Pairs(); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	var edits changes.Renames
	edits.Note(deleted("a.go"), changes.Content{From: []byte(text)})
	edits.Note(made("b.go"), changes.Content{New: []byte(edited)})
	edits.Note(made("half.go"), changes.Content{New: []byte(text[:len(text)/3])})
	if got := edits.Pairs(); !maps.Equal(got, map[string]string{"b.go": "a.go"}) {
		t.Errorf("moved and edited: %v", got)
	}
}
