// Package terminal prepares text for a terminal.
package terminal

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Printable replaces control characters with blanks, so that no text of a file moves the
// cursor, changes colours or hides other text (terminal escape injection).
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// Quote escapes control characters and those that change the direction of text, so that a name
// stays on one line and cannot disguise itself.
func Quote(text string) string {
	if !strings.ContainsFunc(text, isControlOrBidi) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isControlOrBidi(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// QuoteLines is Quote for a text of several lines: line ends and tabs stay. ASCII control
// characters become \x1b and the like.
func QuoteLines(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	acts := func(r rune) bool {
		return r != '\n' && r != '\t' && (isControlOrBidi(r) || r == '\u2028' || r == '\u2029')
	}
	if !strings.ContainsFunc(text, acts) {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !acts(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func isControlOrBidi(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Fit makes a text printable and exactly columns wide: it truncates it with an ellipsis, or
// pads it.
func Fit(text string, columns int) string {
	text = Printable(text)
	limit := columns
	if Columns(text) > columns {
		limit--
	}
	var b strings.Builder
	used := 0
	for _, r := range text {
		if used+cells(r) > limit {
			b.WriteRune('…')
			used++
			break
		}
		b.WriteRune(r)
		used += cells(r)
	}
	return b.String() + strings.Repeat(" ", max(0, columns-used))
}

// Columns returns the width of a text in terminal columns.
func Columns(text string) (columns int) {
	for _, r := range text {
		columns += cells(r)
	}
	return columns
}

func cells(r rune) int {
	if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
