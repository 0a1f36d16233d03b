package main

// Writing the figures into a page, so that what is published is what was
// measured.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Marks between which a table stands in a page; they name what it shows.
const (
	tableBegin = "<!-- bench %s: begin -->\n"
	tableEnd   = "<!-- bench %s: end -->\n"
)

// writeTable puts a table between the marks of its name in a page, in the place of
// what stood there. A page without the marks is left as it is, and an error.
func writeTable(page, name, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := fmt.Appendf(nil, tableBegin, name), fmt.Appendf(nil, tableEnd, name)
	before, rest, found := bytes.Cut(text, begin)
	_, after, closed := bytes.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the table %q", page, name)
	}
	var b bytes.Buffer
	for _, part := range [][]byte{before, begin, []byte("\n" + table + "\n"), end, after} {
		b.Write(part)
	}
	// Beside, then in place: an interrupted write leaves the page whole.
	beside := page + ".new"
	if err := os.WriteFile(beside, b.Bytes(), 0o644); err != nil { //nolint:gosec // a page of the project
		return errors.Join(err, os.Remove(beside))
	}
	return os.Rename(beside, page)
}

// markdown is the figures as the table of a page.
func markdown(figures []figure) string {
	var b strings.Builder
	b.WriteString("| what | target | seen | | limit in the same run | seen / limit | how it spread |\n|---|---|---|---|---|---|---|\n")
	for _, f := range figures {
		limit, ratio := f.limit()
		cells := []string{f.Name, f.target(), show(f.Seen, f.Unit), f.result(), limit, ratio, f.Note}
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cell), "|", "\\|")
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}
