package frames

// Texts on one line.

import (
	"strings"

	"ac/internal/clip"
)

// firstRunes returns the first n characters of a text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// OneLine replaces line breaks by spaces and truncates the text to n characters.
func OneLine(text string, n int) string {
	text = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(clip.Head(text, 8*n))
	return firstRunes(text, n)
}
