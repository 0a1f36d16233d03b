package transcript

// Texts of agents: bounded, chosen, counted.

import (
	"strings"

	"ac/internal/clip"
)

// cut is the first n bytes of a text in memory of its own, so that the rest is not kept,
// and whether there is a rest.
func cut(text string, n int) (string, bool) {
	if len(text) <= n {
		return text, false
	}
	return strings.Clone(clip.Head(text, n)), true
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
