// Package patch reads, applies and writes unified diffs of one text file.
//
// Layout of a patch: lines that are skipped, "--- name", "+++ name", then
// hunks: "@@ -start,count +start,count @@" and lines that begin with a blank
// (context), "-" (deleted) or "+" (added). "\ No newline at end of file" after
// a line means that it has no line end. Names are ignored.
//
// Invariants: Apply accepts only exact matches, line ends included; in a text
// that Apply returns every line but the last has a line end.
package patch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Patch is the hunks of a diff. Lines keep their line ends.
type Patch struct{ hunks []hunk }

// hunk is one group of changed lines with its context. start is the index of its first line in
// the old text, counted from 0.
type hunk struct {
	start int
	lines []line
}

type line struct {
	op   byte // ' ', '-' or '+'
	text string
}

// old returns the lines that must match the text.
func (h *hunk) old() []string { return h.side('+') }

// side returns the lines of a hunk except those of one operation.
func (h *hunk) side(without byte) (lines []string) {
	for _, l := range h.lines {
		if l.op != without {
			lines = append(lines, l.text)
		}
	}
	return lines
}

// Read parses a patch. Several files, a malformed hunk or a patch without changes are errors.
func Read(text string) (Patch, error) {
	r := reader{lines: splitLines(text), crlf: onlyCRLF(text)}
	var p Patch
	if err := r.header(); err != nil {
		return p, err
	}
	for r.at < len(r.lines) {
		switch now := trimEnd(r.lines[r.at]); {
		case strings.HasPrefix(now, "@@"):
			h, err := r.hunk()
			if err != nil {
				return p, err
			}
			p.hunks = append(p.hunks, h)
		case strings.TrimSpace(now) == "":
			r.at++
		case startsSection(now):
			return p, r.errorf("more than one file is patched")
		default:
			return p, r.errorf("%q is not part of a hunk", shorten(now))
		}
	}
	if len(p.hunks) == 0 {
		return p, errors.New("the patch has no hunk")
	}
	return p, nil
}

type reader struct {
	lines []string
	at    int
	crlf  bool // every line of the patch ends in CRLF
}

func (r *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d of the patch: %s", r.at+1, fmt.Sprintf(format, args...))
}

// header skips to the first hunk.
func (r *reader) header() error {
	for ; r.at < len(r.lines); r.at++ {
		now := trimEnd(r.lines[r.at])
		if strings.HasPrefix(now, "@@") {
			return r.errorf("a hunk before the file names")
		}
		if !strings.HasPrefix(now, "--- ") {
			continue
		}
		if r.at+1 == len(r.lines) || !strings.HasPrefix(r.lines[r.at+1], "+++ ") {
			return r.errorf("the line +++ does not follow")
		}
		r.at += 2
		return nil
	}
	return errors.New("the patch has no lines --- and +++")
}

func startsSection(now string) bool {
	for _, prefix := range []string{"--- ", "+++ ", "diff ", "Index: ", "===="} {
		if strings.HasPrefix(now, prefix) {
			return true
		}
	}
	return false
}

func (r *reader) hunk() (h hunk, err error) {
	start, olds, news, ok := hunkHeader(trimEnd(r.lines[r.at]))
	if !ok {
		return h, r.errorf("malformed hunk header %q", shorten(trimEnd(r.lines[r.at])))
	}
	if h.start = start; olds > 0 {
		h.start--
	}
	changes, oldEnded, newEnded := false, false, false
	for r.at++; olds > 0 || news > 0; r.at++ {
		if r.at == len(r.lines) {
			return h, r.errorf("the hunk ends too early")
		}
		l := line{text: r.lines[r.at]}
		if trimEnd(l.text) == "" { // editors strip the blank of an empty context line
			l = line{' ', l.text}
		} else {
			l = line{l.text[0], l.text[1:]}
		}
		inOld, inNew := l.op != '+', l.op != '-'
		if !strings.ContainsRune(" -+", rune(l.op)) {
			return h, r.errorf("%q is not a line of a hunk", shorten(trimEnd(r.lines[r.at])))
		}
		if inOld {
			olds--
		}
		if inNew {
			news--
		}
		if olds < 0 || news < 0 || inOld && oldEnded || inNew && newEnded {
			return h, r.errorf("the lines of the hunk do not match its header")
		}
		if r.lacksLineEnd() {
			l.text = r.withoutEnd(l.text)
			oldEnded, newEnded = oldEnded || inOld, newEnded || inNew
			r.at++
		} else if !strings.HasSuffix(l.text, "\n") {
			l.text += r.end() // the patch itself lacks its last line end
		}
		changes = changes || l.op != ' '
		h.lines = append(h.lines, l)
	}
	if !changes {
		return h, r.errorf("the hunk changes nothing")
	}
	return h, nil
}

func (r *reader) end() string {
	if r.crlf {
		return "\r\n"
	}
	return "\n"
}

// lacksLineEnd reports whether the next line states that this one has no line end.
func (r *reader) lacksLineEnd() bool {
	return r.at+1 < len(r.lines) && strings.HasPrefix(r.lines[r.at+1], `\`)
}

func (r *reader) withoutEnd(text string) string {
	if r.crlf {
		return trimEnd(text)
	}
	return strings.TrimSuffix(text, "\n")
}

// hunkHeader parses "@@ -start,count +start,count @@ ...".
func hunkHeader(text string) (start, olds, news int, ok bool) {
	words := strings.Fields(text)
	if len(words) < 4 || words[0] != "@@" || words[3] != "@@" {
		return 0, 0, 0, false
	}
	start, olds, okOld := parseSpan(words[1], "-")
	_, news, okNew := parseSpan(words[2], "+")
	return start, olds, news, okOld && okNew && (olds == 0 || start > 0)
}

// parseSpan parses "-start,count" or "-start".
func parseSpan(word, sign string) (start, count int, ok bool) {
	word, ok = strings.CutPrefix(word, sign)
	first, second, both := strings.Cut(word, ",")
	start, okStart := number(first)
	count, okCount := 1, true
	if both {
		count, okCount = number(second)
	}
	return start, count, ok && okStart && okCount
}

// number parses decimal digits.
func number(text string) (n int, ok bool) {
	if text == "" || len(text) > 9 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// splitLines splits a text after each LF.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func trimEnd(text string) string { return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r") }

// onlyCRLF reports whether a text has line ends and all of them are CRLF.
func onlyCRLF(text string) bool {
	ends := strings.Count(text, "\n")
	return ends > 0 && ends == strings.Count(text, "\r\n")
}

func shorten(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
