package terminal

// Removing control sequences from the output of programs.

import (
	"strings"
	"unicode/utf8"
)

// Plain removes ANSI escapes and control characters, except tabs, from a text, and then the
// white space around it.
func Plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] == 0x1b {
			i++
			if i < len(text) && text[i] == '[' {
				i++
				for i < len(text) && (text[i] < 0x40 || text[i] > 0x7e) {
					i++
				}
			}
			if i < len(text) {
				i++
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r >= ' ' && r != 0x7f || r == '\t' {
			b.WriteRune(r)
		}
		i += size
	}
	return strings.TrimSpace(b.String())
}

// PlainLines is Plain for a text of several lines.
func PlainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Plain(lines[i])
	}
	return strings.Join(lines, "\n")
}
