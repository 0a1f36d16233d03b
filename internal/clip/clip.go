// Package clip truncates texts to a number of bytes without splitting characters.
package clip

import "unicode/utf8"

// Head returns the beginning of a text, at most n bytes. The result is a substring.
func Head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Tail returns the end of a text, at most n bytes. The result is a substring.
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
