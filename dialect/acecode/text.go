package acecode

// Texts that are cut at the borders of characters.

import (
	"strings"
	"unicode/utf8"
)

// head is the beginning of a text, n bytes at most.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// tail is the end of a text, n bytes at most.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	from := len(text) - n
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// firstRunes is the beginning of a text, n characters at most.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// oneLine is a text with its line breaks as spaces, n characters at most.
func oneLine(text string, n int) string {
	text = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(head(text, 8*n))
	return firstRunes(text, n)
}
