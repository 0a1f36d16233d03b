package terminal

// Tables that fit the terminal: a row never wraps.

import (
	"slices"
	"strings"
)

// Colour is a foreground colour or weight of the terminal's own palette.
type Colour string

// The colours that lists use. None is the colour of the terminal.
const (
	None       Colour = ""
	Dim        Colour = "2"
	Red        Colour = "31"
	Green      Colour = "32"
	Yellow     Colour = "33"
	Cyan       Colour = "36"
	BoldYellow Colour = "1;33"
)

// Paint wraps a text in the escape codes of a colour.
func (c Colour) Paint(text string) string {
	if c == None || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// Column is a column of a table.
type Column struct {
	Title    string
	Right    bool // aligned to the right
	MaxWidth int  // maximum width, 0 for none
	Text     bool // it gets the width that the others leave; one column of a table has it
	Drop     int  // order in which columns are omitted on narrow terminals, 0 for never
}

// Cell is one value of a row.
type Cell struct {
	Text   string
	Colour Colour
	Link   string // address of what it names, "" for none
}

// Table is rows below their titles.
type Table struct {
	Columns []Column
	Rows    [][]Cell // a cell for each column
}

const (
	gap       = 2  // spaces between columns
	leastText = 20 // least width of the text column before other columns are omitted
)

// Lines lays out the table in a width, titles first. No line is wider. It writes colours and
// links only if colour is true.
func (t Table) Lines(width int, colour bool) []string {
	shown, widths := t.layout(width)
	titles := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = Cell{Text: c.Title}
	}
	lines := make([]string, 0, len(t.Rows)+1)
	for _, row := range slices.Concat([][]Cell{titles}, t.Rows) {
		lines = append(lines, line(t.Columns, row, shown, widths, width, colour))
	}
	return lines
}

// layout chooses the columns to show, and their widths.
func (t Table) layout(width int) (shown, widths []int) {
	widths = make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = Columns(c.Title)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], Columns(Printable(row[i].Text)))
		}
		if c.MaxWidth > 0 {
			widths[i] = min(widths[i], max(c.MaxWidth, Columns(c.Title)))
		}
		shown = append(shown, i)
	}
	text := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Text })
	for drop := 1; ; drop++ {
		left := width
		for _, i := range shown {
			if left -= gap; i != text {
				left -= widths[i]
			}
		}
		left += gap
		if text < 0 || left >= min(leastText, widths[text]) || !slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Drop >= drop }) {
			if text >= 0 {
				widths[text] = min(widths[text], max(left, 1))
			}
			return shown, widths
		}
		shown = slices.DeleteFunc(shown, func(i int) bool { return t.Columns[i].Drop == drop })
	}
}

// line formats one row. A row that is wider than the terminal is truncated and has no colours.
func line(columns []Column, row []Cell, shown, widths []int, width int, colour bool) string {
	used := gap * (len(shown) - 1)
	for _, i := range shown {
		used += widths[i]
	}
	cells := make([]string, len(shown))
	for at, i := range shown {
		cells[at] = fit(row[i], columns[i].Right, widths[i], colour && used <= width)
	}
	text := strings.TrimRight(strings.Join(cells, strings.Repeat(" ", gap)), " ")
	if used > width && Columns(text) > width {
		text = strings.TrimRight(Fit(text, width), " ")
	}
	return text
}

func fit(c Cell, right bool, width int, colour bool) string {
	text := Fit(c.Text, width)
	bare := strings.TrimRight(text, " ")
	blanks := text[len(bare):]
	if colour {
		bare = Link(c.Link, c.Colour.Paint(bare))
	}
	if right {
		return blanks + bare
	}
	return bare + blanks
}
