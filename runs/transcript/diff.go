package transcript

// Unified diffs of what agents show of their changes.

import (
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"ac/internal/clip"
)

// maxCompared bounds the texts that are compared line by line; of larger ones
// everything counts as changed.
const maxCompared = 256 << 10

// unifiedDiff is the diff of a file from one text to another, "" where nothing
// changes. An empty text is that of no file.
func unifiedDiff(path, before, after string) string {
	switch {
	case before == after:
		return ""
	case before == "":
		return diffHead("", path) + block('+', after)
	case after == "":
		return diffHead(path, "") + block('-', before)
	case len(before)+len(after) > maxCompared:
		return diffHead(path, path) + hunkHead(lines(before), lines(after)) + marked('-', before) + marked('+', after)
	}
	from, to := names(path, path)
	return udiff.Unified(from, to, endLine(before), endLine(after))
}

// diffHead is the two lines that name the file; "" is none.
func diffHead(from, to string) string {
	from, to = names(from, to)
	return "--- " + from + "\n+++ " + to + "\n"
}

func names(from, to string) (string, string) {
	name := func(prefix, path string) string {
		if path == "" {
			return "/dev/null"
		}
		path, _, _ = strings.Cut(path, "\n")
		return prefix + strings.TrimPrefix(path, "/")
	}
	return name("a/", from), name("b/", to)
}

// block is one hunk of lines that are all new, or all gone.
func block(mark byte, text string) string {
	n := lines(text)
	if mark == '+' {
		return hunkHead(0, n) + marked(mark, text)
	}
	return hunkHead(n, 0) + marked(mark, text)
}

func hunkHead(before, after int) string {
	return "@@ -" + span(min(before, 1), before) + " +" + span(min(after, 1), after) + " @@\n"
}

// span is where the lines of a hunk begin, and how many they are.
func span(start, n int) string { return strconv.Itoa(start) + "," + strconv.Itoa(n) }

func lines(text string) int { return strings.Count(endLine(text), "\n") }

// marked puts a mark in front of each line, as far as a diff is kept.
func marked(mark byte, text string) string {
	text = clip.Head(text, maxDiff)
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteByte(mark)
		b.WriteString(line)
	}
	return endLine(b.String())
}

// endLine is a text that ends a line.
func endLine(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n"
	}
	return text
}

// Changed counts the lines that a unified diff adds and takes away.
func Changed(diff string) (added, removed int) {
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "--- "):
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
	}
	return added, removed
}
