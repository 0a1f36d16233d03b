package patch

// Re-anchoring: applying several patches that each add lines below the same
// heading, one after the other.

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// reanchor finds another place for a patch that only adds one block: below the only line that
// equals the last non-empty line before the block, and after any blocks that were inserted
// there since. It returns nil if there is no such place.
func (p Patch) reanchor(t target) []udiff.Edit {
	if len(p.hunks) != 1 {
		return nil
	}
	a, ok := p.hunks[0].addition()
	if !ok {
		return nil
	}
	blank := len(a.before) > 0 && isBlank(a.before[len(a.before)-1])
	before := slices.Clone(a.before)
	for len(before) > 0 && isBlank(before[len(before)-1]) {
		before = before[:len(before)-1]
	}
	if len(before) == 0 {
		return nil
	}
	found := uniqueIndex(t.lines, before[len(before)-1])
	if found < 0 || !strings.HasSuffix(t.lines[found], "\n") {
		return nil
	}
	at := found + 1
	if blank && at < len(t.lines) && trimEnd(t.lines[at]) == "" && strings.HasSuffix(t.lines[at], "\n") {
		at++
	}
	at = a.insertAfter(t, at)
	if at < len(t.lines) && !strings.HasSuffix(a.block, "\n") {
		return nil
	}
	return []udiff.Edit{{Start: t.offsets[at], End: t.offsets[at], New: a.block}}
}

// uniqueIndex returns the index of the only line that equals another, ignoring line ends; -1 for none
// or several.
func uniqueIndex(lines []string, line string) int {
	found := -1
	for i, l := range lines {
		if trimEnd(l) != trimEnd(line) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// addition is a hunk that only adds one block of lines.
type addition struct {
	before, after []string // context
	block         string
}

// addition returns the hunk as an addition; ok is false if it is anything else.
func (h *hunk) addition() (a addition, ok bool) {
	for _, l := range h.lines {
		switch {
		case l.op == '-', l.op == '+' && len(a.after) > 0:
			return addition{}, false
		case l.op == '+':
			a.block += l.text
		case a.block == "":
			a.before = append(a.before, l.text)
		default:
			a.after = append(a.after, l.text)
		}
	}
	return a, a.block != ""
}

// insertAfter returns the place after the blocks that were inserted at a place since the patch
// was made. That is before the line that followed the place then. If there is no such line, or
// it is no longer in the section, it returns the place itself.
func (a *addition) insertAfter(t target, at int) int {
	blanks := slices.IndexFunc(a.after, func(l string) bool { return !isBlank(l) })
	if blanks < 0 {
		return at
	}
	next := trimEnd(a.after[blanks])
	for i := at; i < len(t.lines); i++ {
		line := trimEnd(t.lines[i])
		if line == next {
			return max(at, i-blanks)
		}
		if isHeading(line) {
			break
		}
	}
	return at
}

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

// isHeading reports whether a line is a Markdown heading that begins with #.
func isHeading(line string) bool { return headingLevel(line) > 0 }

// headingLevel returns the level of a heading that begins with #, 0 for any other line.
func headingLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level > 6 || len(line) > level && line[level] != ' ' {
		return 0
	}
	return level
}
