package patch

// Writing patches that take lines out again.

import (
	"slices"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
)

// Remove takes out the first place where the lines follow each other below the first line
// that equals under. Spaces at line ends do not count, nor do
// blank lines around the given ones. It is the inverse of Insert: a blank line that Insert
// put behind the lines goes with them. It returns what Insert returns, and ErrNoLine if there
// is no such place.
func Remove(name, text, under string, lines []string) (result, patch string, err error) {
	t := newTarget(text)
	trimmed := make([]string, len(t.lines))
	for i, line := range t.lines {
		trimmed[i] = strings.TrimRightFunc(line, unicode.IsSpace)
	}
	wanted := withoutBlanks(lines)
	from := 1 + slices.Index(trimmed, under)
	if from == 0 {
		return "", "", ErrNoLine
	}
	at := placeOf(trimmed, wanted, from)
	if at < 0 {
		return "", "", ErrNoLine
	}
	end := at + len(wanted)
	apart := at == from || trimmed[at-1] == "" // of what is above
	if apart && end < len(trimmed) && trimmed[end] == "" {
		end++
	}
	return proven(name, text, udiff.Edit{Start: t.offsets[at], End: t.offsets[end]})
}

// placeOf is where lines follow each other in others, from a place on, -1 if nowhere.
func placeOf(others, lines []string, from int) int {
	for at := from; len(lines) > 0 && at+len(lines) <= len(others); at++ {
		if slices.Equal(others[at:at+len(lines)], lines) {
			return at
		}
	}
	return -1
}

// withoutBlanks are lines without spaces at their ends, and without blank ones around them.
func withoutBlanks(lines []string) []string {
	kept := make([]string, 0, len(lines))
	for _, line := range lines {
		kept = append(kept, strings.TrimRightFunc(line, unicode.IsSpace))
	}
	for len(kept) > 0 && kept[0] == "" {
		kept = kept[1:]
	}
	for len(kept) > 0 && kept[len(kept)-1] == "" {
		kept = kept[:len(kept)-1]
	}
	return kept
}
