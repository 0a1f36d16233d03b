package transcript

// Texts of agents: cut on characters, without escapes, out of their shells.

import (
	"strings"
	"unicode/utf8"
)

// head cuts a text at n bytes, on a character. What it returns is a part of the text.
func head(text string, n int) (string, bool) {
	if len(text) <= n {
		return text, false
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], true
}

// cut is head in memory of its own, so that the rest is not kept.
func cut(text string, n int) (string, bool) {
	short, is := head(text, n)
	if is {
		short = strings.Clone(short)
	}
	return short, is
}

// tail is the last n bytes of a text, from a character on.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// plain takes ANSI escapes and control characters out of a text.
func plain(text string) string {
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

// plainLines is plain for a text of several lines.
func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = plain(lines[i])
	}
	return strings.Join(lines, "\n")
}

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// units is the length of a text in UTF-16 code units.
func units(text string) (n int64) {
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
