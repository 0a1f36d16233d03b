package top

// Text in a width: wrapped, cut, framed.

import (
	"strings"

	"ac/internal/terminal"
)

// tabs is what a tab becomes; tab stops would depend on where the text stands.
const tabs = "    "

// wrap breaks lines that are wider than the width. A blank line stays one.
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

// cutAt is how many bytes of a text stand in a width, one character at least.
func cutAt(text string, width int) int {
	used := 0
	for i, r := range text {
		if used += terminal.Columns(string(r)); used > width && i > 0 {
			return i
		}
	}
	return len(text)
}

// fit makes a line exactly as wide as the width.
func fit(text string, width int) string { return terminal.Fit(text, max(width, 0)) }

// paint is a line of exactly this width in its colour.
func (m *Model) paint(l Line, width int) string {
	bare := strings.TrimRight(fit(l.Text, width), " ")
	blanks := strings.Repeat(" ", max(0, width-terminal.Columns(bare)))
	if m.options.Colour {
		bare = l.Colour.Paint(bare)
	}
	return bare + blanks
}

// reverse shows a line as selected, where colours are shown at all.
func (m *Model) reverse(line string) string {
	if m.options.Colour {
		return "\x1b[7m" + line + "\x1b[0m"
	}
	return line
}
