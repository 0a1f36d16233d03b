package frames

// Texts that are cut at the borders of characters.

import (
	"strings"
	"unicode/utf8"
)

// Head is the beginning of a text, n bytes at most.
func Head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Tail is the end of a text, n bytes at most.
func Tail(text string, n int) string {
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

// OneLine is a text with its line breaks as spaces, n characters at most.
func OneLine(text string, n int) string {
	text = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(Head(text, 8*n))
	return firstRunes(text, n)
}
