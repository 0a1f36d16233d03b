// Package frontmatter splits markdown records into YAML front matter and body,
// and joins them again with the body unchanged byte for byte.
//
// Layout of a record: a first line that is exactly "---", YAML, a line that is
// exactly "---", then the body. Lines end in LF or CRLF.
package frontmatter

import (
	"bytes"
	"errors"
)

// The two ways in which front matter can be missing. Front matter that is not
// YAML is an error of the YAML reader.
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

// Join writes a record: fences around the YAML, then the body. A missing body
// becomes one empty line.
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
