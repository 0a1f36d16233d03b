package main

// Writing the figures into a page, so that the published figures are the measured ones.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Marks around a table in a page, with the table's name.
const (
	tableBegin = "<!-- bench %s: begin -->\n"
	tableEnd   = "<!-- bench %s: end -->\n"
)

// writeTable replaces the text between a table's marks in a page. If the page does not have the
// marks, it stays unchanged and writeTable returns an error.
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
	// Write a new file and rename it: an interrupted write leaves the page whole.
	beside := page + ".new"
	if err := os.WriteFile(beside, b.Bytes(), 0o644); err != nil { //nolint:gosec // a page of the project
		return errors.Join(err, os.Remove(beside))
	}
	return os.Rename(beside, page)
}

// markdown returns the figures as a Markdown table.
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
