package yamldoc

// Lines that YAML 1.2 allows and the library rejects: %YAML 1.2 and unknown directives, and
// tabs that indent nothing. They are overwritten with spaces, so that line numbers stay the
// same.

import (
	"bytes"
)

// blankDirectives overwrites the directives before a document with spaces. Exceptions are %TAG,
// which the library knows, and %YAML of a major version other than 1.
func blankDirectives(text []byte) []byte {
	if !bytes.Contains(text[:min(len(text), maxDirectives)], []byte("%")) {
		return text
	}
	out := bytes.Clone(text)
	for rest := out[:min(len(out), maxDirectives)]; len(rest) > 0; {
		line, next, _ := bytes.Cut(rest, []byte("\n"))
		blank := bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("---")):
			return out
		case bytes.HasPrefix(line, []byte("%TAG ")):
		case bytes.HasPrefix(line, []byte("%YAML ")) && !bytes.HasPrefix(bytes.TrimLeft(line[6:], " \t"), []byte("1.")):
			return text
		case bytes.HasPrefix(line, []byte("%")):
			for i := range line {
				line[i] = ' '
			}
		case len(blank) > 0 && blank[0] != '#':
			return text
		}
		rest = next
	}
	return text
}

// maxDirectives bounds the beginning of a text in which directives are searched.
const maxDirectives = 4 << 10

// blankTabs replaces the leading tabs of a line with spaces if nothing follows, or only a
// comment or the end of a flow collection. Such tabs indent nothing.
func blankTabs(text []byte) []byte {
	if !bytes.HasPrefix(text, []byte("\t")) && !bytes.Contains(text, []byte("\n\t")) {
		return text
	}
	out := bytes.Clone(text)
	for rest := out; len(rest) > 0; {
		line, next, _ := bytes.Cut(rest, []byte("\n"))
		rest = next
		if line = bytes.TrimSuffix(line, []byte("\r")); !bytes.HasPrefix(line, []byte("\t")) {
			continue
		}
		behind := bytes.TrimLeft(line, " \t")
		if len(behind) > 0 && !bytes.ContainsAny(behind[:1], "#]}") {
			continue
		}
		for i := range line[:len(line)-len(behind)] {
			line[i] = ' '
		}
	}
	return out
}
