// Package xmltext escapes texts for XML, as encoding/xml does. Every process of ac would build
// the table of named entities of that package at its start.
package xmltext

import (
	"strings"
	"unicode/utf8"
)

// Escape escapes a text for XML. Characters that XML does not allow become U+FFFD.
func Escape(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch r {
		case '"':
			b.WriteString("&#34;")
		case '\'':
			b.WriteString("&#39;")
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '\t':
			b.WriteString("&#x9;")
		case '\n':
			b.WriteString("&#xA;")
		case '\r':
			b.WriteString("&#xD;")
		default:
			if !character(r) {
				r = utf8.RuneError
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// character reports whether XML allows a character (Extensible Markup Language 1.0, 2.2).
func character(r rune) bool {
	return r >= 0x20 && r <= 0xD7FF || r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= utf8.MaxRune
}
