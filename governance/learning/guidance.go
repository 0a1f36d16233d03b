package learning

// AGENTS.md, the guidance of an agent: its text, the rules that recurring mistakes add to it, and
// its managed section. People edit the file, so everything else in it stays byte for byte,
// including line ends.

import (
	"bytes"
	"fmt"
	"strings"

	"ac/workspace/doc"
)

const (
	contextHeading = "## Relevant Context Index"
	contextMarker  = "<!-- managed: context-index -->"
)

// ruleMarker returns the comment that identifies the rule of a mistake.
func ruleMarker(key string) string { return markerStart + key + " -->" }

const markerStart = "<!-- mistake:"

// ruleLine returns the line of guidance for a mistake. It escapes comments in the text, because a
// comment could pass for the marker of another rule.
func ruleLine(key, rule string, count int64) string {
	shown := strings.NewReplacer("<!--", "&lt;!--").Replace
	times := "times"
	if count == 1 {
		times = "time"
	}
	return fmt.Sprintf("- %s [%s] %s (seen %d %s)", ruleMarker(key), shown(key), shown(strings.TrimSpace(doc.OneLine(rule))), count, times)
}

// hasRule reports whether guidance contains the rule of a mistake. It ignores a match at the end
// of another marker, whose key happens to end like this marker.
func hasRule(guidance []byte, key string) bool {
	marker := []byte(ruleMarker(key))
	for line := range bytes.Lines(guidance) {
		for from := 0; ; {
			at := bytes.Index(line[from:], marker)
			if at < 0 {
				break
			}
			at += from
			opened := bytes.LastIndex(line[:at], []byte(markerStart))
			if opened < 0 || bytes.Contains(line[opened:at], []byte("-->")) {
				return true
			}
			from = at + 1
		}
	}
	return false
}

// withRule inserts a rule right after the heading of recurring mistakes. If there is no such
// heading, it appends both.
func withRule(guidance []byte, rule string) []byte {
	at := findLine(guidance, func(line []byte) bool { return string(bytes.TrimRight(line, " \t\r\n")) == doc.MistakesHeading })
	if at.found {
		end := lineEnd(guidance, at)
		head := ended(guidance[:at.to], end)
		return concat(head, []byte(rule+end), guidance[at.to:])
	}
	end := lineEnd(guidance, at)
	return concat(separated(guidance, end), []byte(doc.MistakesHeading+end+rule+end))
}

// withSection replaces the context index in guidance, or appends it.
func withSection(guidance []byte, lines []string) []byte {
	at := findLine(guidance, func(line []byte) bool { return string(bytes.TrimSpace(line)) == contextMarker })
	begin := at.from
	if !at.found {
		at = findLine(guidance, func(line []byte) bool { return string(bytes.TrimRight(line, " \t\r\n")) == contextHeading })
		begin = at.to
	}
	end := lineEnd(guidance, at)
	section := []byte(strings.Join(append([]string{contextMarker}, lines...), end) + end)
	if !at.found {
		return concat(separated(guidance, end), []byte(contextHeading+end), section)
	}
	rest := guidance[at.to:]
	next := findLine(rest, func(line []byte) bool { return bytes.HasPrefix(line, []byte("## ")) })
	if next.found {
		rest = rest[next.from:]
	} else {
		rest = nil
	}
	old := guidance[begin : len(guidance)-len(rest)]
	blank := old[len(bytes.TrimRight(old, " \t\r\n")):] // keep the space before the next heading
	if i := bytes.IndexByte(blank, '\n'); i >= 0 && len(blank) < len(old) {
		blank = blank[i+1:]
	}
	if len(rest) == 0 {
		blank = nil
	}
	return concat(ended(guidance[:begin], end), section, blank, ended(rest, end))
}

// lineSpan is a line of a text, including its line end.
type lineSpan struct {
	from, to int
	found    bool
}

func findLine(text []byte, fits func(line []byte) bool) lineSpan {
	at := 0
	for line := range bytes.Lines(text) {
		if fits(line) {
			return lineSpan{at, at + len(line), true}
		}
		at += len(line)
	}
	return lineSpan{}
}

// lineEnd returns the line end of a line, or the most common one in the text if the line has
// none.
func lineEnd(text []byte, at lineSpan) string {
	if at.found && bytes.HasSuffix(text[at.from:at.to], []byte("\n")) {
		text = text[at.from:at.to]
	}
	if crlf := bytes.Count(text, []byte("\r\n")); crlf > 0 && 2*crlf >= bytes.Count(text, []byte("\n")) {
		return "\r\n"
	}
	return "\n"
}

// ended returns a text whose last line has a line end.
func ended(text []byte, end string) []byte {
	if len(text) == 0 || text[len(text)-1] == '\n' {
		return text
	}
	return concat(text, []byte(end))
}

// separated is ended followed by an empty line.
func separated(text []byte, end string) []byte {
	if len(bytes.TrimSpace(text)) == 0 {
		return ended(text, end)
	}
	text = ended(text, end)
	if bytes.HasSuffix(text, []byte("\n\n")) || bytes.HasSuffix(text, []byte("\n\r\n")) {
		return text
	}
	return concat(text, []byte(end))
}

func concat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
