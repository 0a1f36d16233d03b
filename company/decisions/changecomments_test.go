package decisions

// Comments on lines of a run's changes.

import (
	"testing"

	"ac/workspace/doc"
)

func TestPlaced(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]ChangeComment{
		"a.go:12 (new)\n> x := 1\nName it y.":           {Path: "a.go", Line: 12, Side: "new", Excerpt: "x := 1", Text: "Name it y."},
		"d (old)/a:b.go:3-5 (old)\r\n>  x\r\n>\r\nWhy?": {Path: "d (old)/a:b.go", Line: 3, LineTo: 5, Side: "old", Excerpt: " x\n", Text: "Why?"},
		"a.go:1 (new)":        {Path: "a.go", Line: 1, Side: "new"},
		"a.go:1 (new)\n> x":   {Path: "a.go", Line: 1, Side: "new", Excerpt: "x"},
		"":                    {},
		" (new)":              {},
		"A good run.":         {},
		"a.go:0 (new)\nx":     {},
		"a.go:-1 (new)\nx":    {},
		"a.go:5-3 (new)\nx":   {},
		"a.go:1- (new)\nx":    {},
		"a.go:1 (left)\nx":    {},
		"a.go:1\nx":           {},
		"../a.go:1 (new)\nx":  {},
		"/etc/pw:1 (new)\nx":  {},
		"a:9999999999 (new)":  {},
		"x\na.go:1 (new)\nxy": {},
	} {
		got, ok := parseLineComment(doc.Comment{Body: body})
		if ok != (want.Path != "") || ok && got != want {
			t.Errorf("%q: %v %+v", body, ok, got)
		}
	}
}
