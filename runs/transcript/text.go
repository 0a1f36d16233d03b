package transcript

// Helpers for agents' texts: bounds, selection, length.

import (
	"strings"

	"ac/internal/clip"
)

// cut returns the first n bytes of a text, and whether it was longer. A cut text is copied, so
// that the rest can be freed.
func cut(text string, n int) (string, bool) {
	if len(text) <= n {
		return text, false
	}
	return strings.Clone(clip.Head(text, n)), true
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// units returns the length of a text in UTF-16 code units.
func units(text string) (n int64) {
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
