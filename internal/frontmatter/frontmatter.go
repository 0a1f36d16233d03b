// Package frontmatter splits Markdown records into YAML front matter and body, and joins them
// again with the body unchanged byte for byte.
//
// Layout of a record: a first line that is exactly "---", YAML, a line that is
// exactly "---", then the body. Lines end in LF or CRLF.
package frontmatter

import (
	"bytes"
	"errors"
	"strings"
)

// The two ways in which front matter can be missing. Front matter that is not YAML is an error
// of the YAML parser.
var (
	ErrMissing  = errors.New("missing_frontmatter")
	ErrUnclosed = errors.New("frontmatter_unclosed")
)

// Split splits a record into the YAML between the fences and everything after
// the second fence line.
func Split(record []byte) (head, body []byte, err error) {
	first, rest, ok := cutLine(record)
	if !ok || string(first) != "---" {
		return nil, nil, ErrMissing
	}
	for at := rest; len(at) > 0; {
		line, next, terminated := cutLine(at)
		if string(line) == "---" {
			return rest[:len(rest)-len(at)], next, nil
		}
		if !terminated {
			break
		}
		at = next
	}
	return nil, nil, ErrUnclosed
}

// Join returns a record: fences around the YAML, then the body. It adds an empty line before a
// body that does not begin with one.
func Join(head, body []byte) []byte {
	var out bytes.Buffer
	out.WriteString("---\n")
	out.Write(head)
	if len(head) > 0 && head[len(head)-1] != '\n' {
		out.WriteByte('\n')
	}
	out.WriteString("---\n")
	if len(body) > 0 && body[0] != '\n' && !bytes.HasPrefix(body, []byte("\r\n")) {
		out.WriteByte('\n')
	}
	out.Write(body)
	return out.Bytes()
}

// HasHeading reports whether a line of the body equals the heading, ignoring
// case and surrounding white space.
func HasHeading(body []byte, heading string) bool {
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		if bytes.EqualFold(bytes.TrimSpace(line), []byte(heading)) {
			return true
		}
	}
	return false
}

func cutLine(text []byte) (line, rest []byte, terminated bool) {
	line, rest, terminated = bytes.Cut(text, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest, terminated
}

// Section returns the text below a heading, up to the next heading of the same or a higher
// level. ok is false if the body lacks the heading. Case and surrounding white space of
// headings do not count. Headings inside code fences are text.
func Section(body []byte, heading string) (text []byte, ok bool) {
	from, to := sectionOf(body, heading)
	if from < 0 {
		return nil, false
	}
	return body[from:to], true
}

// BlankSection reports whether there is nothing below a heading, or no such heading.
func BlankSection(body []byte, heading string) bool {
	text, _ := Section(body, heading)
	return len(bytes.TrimSpace(text)) == 0
}

// ExtendSection appends text to a section. Except for blank lines around that text, the rest of
// the body stays byte for byte. A body without the heading is returned unchanged, and ok is
// false.
func ExtendSection(body []byte, heading string, text []byte) (extended []byte, ok bool) {
	from, to := sectionOf(body, heading)
	if from < 0 {
		return body, false
	}
	end := from + len(bytes.TrimRight(body[from:to], " \t\r\n"))
	if len(bytes.TrimSpace(body[from:to])) == 0 {
		end = from
	}
	eol := "\n"
	if bytes.Contains(body[:from], []byte("\r\n")) {
		eol = "\r\n"
	}
	var out bytes.Buffer
	out.Write(body[:end])
	if end > from || !bytes.HasSuffix(body[:end], []byte("\n")) {
		out.WriteString(eol)
	}
	out.WriteString(eol)
	out.Write(bytes.TrimRight(text, "\r\n"))
	out.WriteString(eol)
	if rest := bytes.TrimLeft(body[end:], "\r\n"); len(rest) > 0 && to < len(body) {
		out.WriteString(eol)
		out.Write(rest)
	}
	return out.Bytes(), true
}

// sectionOf returns the range of the section below a heading. from is -1 if there is none.
func sectionOf(body []byte, heading string) (from, to int) {
	from, to = -1, len(body)
	level := levelOf([]byte(heading))
	fenced := false
	for at := 0; at < len(body); {
		line, rest, _ := cutLine(body[at:])
		next := len(body) - len(rest)
		trimmed := bytes.TrimSpace(line)
		fence := bytes.HasPrefix(trimmed, []byte("```")) || bytes.HasPrefix(trimmed, []byte("~~~"))
		switch {
		case fence && from >= 0:
			fenced = !fenced
		case fenced:
		case from < 0 && bytes.EqualFold(trimmed, []byte(heading)):
			from = next
		case from >= 0 && levelOf(trimmed) > 0 && levelOf(trimmed) <= level:
			return from, at
		}
		at = next
	}
	return from, to
}

// levelOf returns the level of a heading, 0 for other lines.
func levelOf(line []byte) int {
	n := 0
	for n < len(line) && line[n] == '#' {
		n++
	}
	if n == 0 || n > 6 || n < len(line) && line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

// LowerHeadings returns Markdown whose headings of level one and two are lowered to level three, so
// that it stays within a section of level two.
func LowerHeadings(body string) string {
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(body), "\r\n", "\n"), "\n")
	fenced := false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
		}
		if fenced {
			continue
		}
		level := len(trimmed) - len(strings.TrimLeft(trimmed, "#"))
		underline := i > 0 && trimmed != "" && (strings.Trim(trimmed, "=") == "" || strings.Trim(trimmed, "-") == "") && strings.TrimSpace(lines[i-1]) != ""
		switch {
		case underline:
			lines[i] = "\\" + trimmed // escape the underline of a setext heading
		case level == 1 || level == 2:
			lines[i] = strings.Repeat("#", 3-level) + trimmed
		}
	}
	return strings.Join(lines, "\n")
}
