package transcript

// Unified diffs of the changes that agents report.

import (
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"ac/internal/clip"
)

// maxCompared bounds texts compared line by line, in bytes. In larger ones every line counts as
// changed.
const maxCompared = 256 << 10

// unifiedDiff returns the diff of a file between two texts, "" if they are equal. An empty text
// means that the file does not exist. The last hunk of a diff that was cut at maxDiff has fewer
// lines than its header says: the header counts the lines of the change.
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

// diffHead returns the two lines that name the file. "" means no file.
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

// block returns one hunk whose lines are all added or all removed.
func block(mark byte, text string) string {
	n := lines(text)
	if mark == '+' {
		return hunkHead(0, n) + marked(mark, text)
	}
	return hunkHead(n, 0) + marked(mark, text)
}

func hunkHead(before, after int) string {
	return "@@ -" + hunkSpan(min(before, 1), before) + " +" + hunkSpan(min(after, 1), after) + " @@\n"
}

// hunkSpan returns a hunk's start line and number of lines.
func hunkSpan(start, n int) string { return strconv.Itoa(start) + "," + strconv.Itoa(n) }

func lines(text string) int { return strings.Count(endLine(text), "\n") }

// marked prefixes each line with a mark. It keeps at most maxDiff bytes of the text.
func marked(mark byte, text string) string {
	text = clip.Head(text, maxDiff)
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteByte(mark)
		b.WriteString(line)
	}
	return endLine(b.String())
}

// endLine returns the text with a final newline, unless it is empty.
func endLine(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		return text + "\n"
	}
	return text
}

// CountChangedLines counts the lines that a unified diff adds and removes. The hunk headers tell lines of a
// hunk from those that name a file: a removed line may begin with "-- ".
func CountChangedLines(diff string) (added, removed int) {
	var before, after int // lines of the hunk that are still to come
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@ "):
			before, after = hunkLines(line)
		case before <= 0 && strings.HasPrefix(line, "--- "):
			before, after = 0, 0 // another file, though the hunk may lack lines
		case after <= 0 && strings.HasPrefix(line, "+++ "):
		case line[0] == '+':
			added++
			after--
		case line[0] == '-':
			removed++
			before--
		case line[0] == ' ' || line == "\n": // some agents leave out the space of an empty line
			before--
			after--
		}
	}
	return added, removed
}

// hunkLines returns how many lines of the two texts a hunk covers, by its header.
func hunkLines(head string) (before, after int) {
	words := strings.Fields(head)
	if len(words) < 3 {
		return 0, 0
	}
	return spanLines(words[1], "-"), spanLines(words[2], "+")
}

// spanLines returns the number of lines of a span: 1 if it names none.
func spanLines(text, mark string) int {
	text, ok := strings.CutPrefix(text, mark)
	_, n, counted := strings.Cut(text, ",")
	if ok && !counted {
		return 1
	}
	count, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	return count
}
