package top

// Fitting text to a width: wrapping, truncating and padding.

import (
	"strings"

	"ac/internal/terminal"
)

// tabs replaces a tab. Real tab stops would depend on the column of the text.
const tabs = "    "

// wrap breaks lines that are wider than width. It keeps blank lines.
func wrap(lines []Line, width int) (wrapped []Line) {
	for _, l := range lines {
		for part := range strings.SplitSeq(strings.ReplaceAll(l.Text, "\t", tabs), "\n") {
			part = terminal.Quote(part)
			for terminal.Columns(part) > width {
				cut := cutAt(part, width)
				wrapped = append(wrapped, Line{part[:cut], l.Colour})
				part = part[cut:]
			}
			wrapped = append(wrapped, Line{part, l.Colour})
		}
	}
	return wrapped
}

// cutAt returns how many bytes of a text fit a width, at least one character.
func cutAt(text string, width int) int {
	used := 0
	for i, r := range text {
		if used += terminal.Columns(string(r)); used > width && i > 0 {
			return i
		}
	}
	return len(text)
}

// fit truncates or pads a line to exactly width columns.
func fit(text string, width int) string { return terminal.Fit(text, max(width, 0)) }

// paint returns a line in its color, exactly width columns wide.
func (m *Model) paint(l Line, width int) string {
	bare := strings.TrimRight(fit(l.Text, width), " ")
	blanks := strings.Repeat(" ", max(0, width-terminal.Columns(bare)))
	if m.options.Colour {
		bare = l.Colour.Paint(bare)
	}
	return bare + blanks
}

// reverse marks a line as selected, if colors are enabled.
func (m *Model) reverse(line string) string {
	if m.options.Colour {
		return "\x1b[7m" + line + "\x1b[0m"
	}
	return line
}
