// Package clip cuts texts to a number of bytes, at the borders of characters.
package clip

import "unicode/utf8"

// Head is the beginning of a text, n bytes at most. It is a part of the text.
func Head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Tail is the end of a text, n bytes at most. It is a part of the text.
func Tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
