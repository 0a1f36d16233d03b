package terminal

// Texts of programs without what they tell their terminal.

import (
	"strings"
	"unicode/utf8"
)

// Plain takes ANSI escapes and control characters out of a text.
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
