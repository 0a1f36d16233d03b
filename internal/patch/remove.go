package patch

// Writing patches that remove lines.

import (
	"slices"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
)

// Remove removes the first occurrence of the lines, in sequence, below the first line that
// equals under. If that line is a heading, they must begin in its section. It ignores spaces at
// line ends, and blank lines around the given ones. It is the inverse of Insert: it also
// removes a blank line that Insert put after the lines. It returns what Insert returns, and
// ErrNoLine if there is no such occurrence.
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
	if at < 0 || at > sectionEnd(trimmed, from) {
		return "", "", ErrNoLine
	}
	end := at + len(wanted)
	apart := at == from || trimmed[at-1] == "" // from what is above
	if apart && end < len(trimmed) && trimmed[end] == "" {
		end++
	}
	return applyEdit(name, text, udiff.Edit{Start: t.offsets[at], End: t.offsets[end]})
}

// sectionEnd returns where the section of the heading above a line ends: before the next
// heading of its level or a higher one. A line in a block of code is not a heading. If the line
// above is not a heading, it returns the end of the text.
func sectionEnd(lines []string, from int) int {
	level := headingLevel(lines[from-1])
	fence := ""
	for i := from; i < len(lines) && level > 0; i++ {
		mark := fenceOf(lines[i])
		switch {
		case fence == "" && mark != "":
			fence = mark
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(lines[i]) == mark {
				fence = ""
			}
			continue
		}
		if next := headingLevel(lines[i]); next > 0 && next <= level {
			return i
		}
	}
	return len(lines)
}

// fenceOf returns the mark on a line that begins or ends a block of code, "" if there is none.
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, mark)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// placeOf returns where lines occur in sequence in others, from a place on, -1 if nowhere.
func placeOf(others, lines []string, from int) int {
	for at := from; len(lines) > 0 && at+len(lines) <= len(others); at++ {
		if slices.Equal(others[at:at+len(lines)], lines) {
			return at
		}
	}
	return -1
}

// withoutBlanks returns the lines without trailing spaces, and without blank lines around them.
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
