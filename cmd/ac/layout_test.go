package main

// Helpers that check the layout in docs/formats.md against what commands write.

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// formatsLayout returns patterns of the paths that the layout in docs/formats.md allows in a
// workspace. Patterns of directories match a prefix, those of files the whole path.
func formatsLayout(t *testing.T) []*regexp.Regexp {
	t.Helper()
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## Layout\n")
	_, text, _ = strings.Cut(text, "```\n")
	text, _, _ = strings.Cut(text, "```\n")
	var names []*regexp.Regexp
	parent := ""
	for line := range strings.Lines(text) {
		words := strings.Fields(regexp.MustCompile(`<[^>]+>`).ReplaceAllString(line, "*"))
		var at string
		switch {
		case !strings.HasPrefix(line, " "):
			at, parent = words[0], words[0]
			words = words[1:]
		case !strings.HasPrefix(line, "     ") && (len(words) == 1 || !strings.HasSuffix(words[1], "/")):
			at = parent + words[0]
			words = words[1:]
		default:
			at = parent
		}
		if len(words) == 0 {
			words = []string{""}
		}
		for _, word := range words {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(at+word), `\*`, `[^/]+`)
			if !strings.HasSuffix(at+word, "/") {
				pattern += `(-[a-z]+)?$` // files beside a database, such as -wal
			}
			names = append(names, regexp.MustCompile("^"+pattern))
		}
	}
	if len(names) < 70 {
		t.Fatalf("the layout in docs/formats.md has %d names", len(names))
	}
	return names
}

// checkLayout walks a workspace and reports every file that is missing from the layout. It returns
// the number of files.
func checkLayout(t *testing.T, dir string, names []*regexp.Regexp) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err = filepath.Rel(dir, name)
		name = filepath.ToSlash(name)
		files++
		if !slices.ContainsFunc(names, func(r *regexp.Regexp) bool { return r.MatchString(name) }) {
			t.Errorf("docs/formats.md does not have %s", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}
