package answer

// Finding the JSON values in a worker's output that may be its answer.

import (
	"bytes"
	"strings"

	"ac/internal/canonjson"
	"ac/internal/lazyregexp"
	"ac/internal/param"
	"ac/internal/shape"
)

// Parse parses a text that is exactly one JSON value, nested at most maxNesting deep.
func Parse(text string) (shape.Value, bool) {
	raw := []byte(text)
	if canonjson.Depth(raw) > maxNesting {
		return shape.Value{}, false
	}
	end, err := canonjson.Value(raw, 0)
	if err != nil || len(bytes.TrimSpace(raw[end:])) > 0 {
		return shape.Value{}, false
	}
	return param.Parse(raw), true
}

// maxNesting bounds the nesting of JSON.
const maxNesting = 512

const (
	// maxCandidates bounds the values examined in one output.
	maxCandidates = 1000
	// maxBraces bounds the number of opening braces tried, and maxScanned the bytes scanned for
	// their ends.
	maxBraces  = 2000
	maxScanned = 64 << 20
	// maxUnwrap bounds the nesting of wrapped answers.
	maxUnwrap = 6
)

// candidates are the JSON values in a text, in the order in which to try them. A value wrapped in
// another one comes before it.
type candidates struct{ values []shape.Value }

// Values returns the values in a text that may be an answer: the whole text, else its fenced blocks
// and objects. A value wrapped in another one comes before it.
func Values(text string) []shape.Value {
	c := candidates{}
	c.text(text, 0)
	return c.values
}

// Within returns a value and the values wrapped in it, ordered as by Values.
func Within(v shape.Value) []shape.Value {
	c := candidates{}
	c.value(v, 0)
	return c.values
}

func (c *candidates) text(text string, depth int) {
	if c.whole(text, depth) {
		return
	}
	for _, block := range fence().FindAllStringSubmatch(text, maxCandidates) {
		c.whole(block[1], depth)
	}
	eachObject(text, func(object string) bool { return c.whole(object, depth) && len(c.values) < maxCandidates })
}

// whole handles a text that is one JSON value.
func (c *candidates) whole(text string, depth int) bool {
	v, ok := Lenient(text)
	if ok {
		c.value(v, depth)
	}
	return ok
}

func (c *candidates) value(v shape.Value, depth int) {
	if len(c.values) >= maxCandidates {
		return
	}
	if depth < maxUnwrap {
		switch v.Kind {
		case shape.Map:
			for _, name := range wrappers {
				c.inner(*v.Get(name), depth+1)
			}
		case shape.List:
			for i := range v.Items {
				c.inner(v.Items[i], depth+1)
			}
		default: // nothing is inside
		}
	}
	c.values = append(c.values, v)
}

func (c *candidates) inner(v shape.Value, depth int) {
	switch v.Kind {
	case shape.String:
		if strings.ContainsAny(v.Text, "{[") {
			c.text(v.Text, depth)
		}
	case shape.Map, shape.List:
		c.value(v, depth)
	default: // not an answer
	}
}

var fence = lazyregexp.New("(?s)```[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)```")

var wrappers = []string{"structured_output", "result", "response", "payload", "data", "output", "message", "content"}

// Lenient is Parse that also accepts a byte order mark and trailing commas.
func Lenient(text string) (shape.Value, bool) {
	text = strings.TrimSpace(text)
	if v, ok := Parse(text); ok {
		return v, true
	}
	if !strings.HasPrefix(text, "\uFEFF") && !strings.ContainsAny(text, "]}") {
		return shape.Value{}, false
	}
	return Parse(withoutTrailingCommas(strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))))
}

// withoutTrailingCommas removes commas before closing brackets, outside of
// strings.
func withoutTrailingCommas(text string) string {
	inString, comma := false, -1 // index of the last comma in kept
	kept := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\' && i+1 < len(text):
			kept = append(kept, c, text[i+1])
			i++
			continue
		case c == '"':
			inString = !inString
			comma = -1
		case inString || c == ' ' || c == '\n' || c == '\t' || c == '\r':
		case c == ',':
			comma = len(kept)
		case (c == '}' || c == ']') && comma >= 0:
			kept[comma] = ' '
			comma = -1
		default:
			comma = -1
		}
		kept = append(kept, c)
	}
	return string(kept)
}

// eachObject calls take for each balanced {…} of a text. If take returns false, or a brace is never
// closed, the search continues right after the brace.
func eachObject(text string, take func(object string) bool) {
	scanned := 0
	for tries, at := 0, strings.IndexByte(text, '{'); at >= 0 && tries < maxBraces && scanned < maxScanned; tries++ {
		end := objectEnd(text[at:])
		next := at + 1
		if end < 0 {
			scanned += len(text) - at
		} else {
			scanned += end
			if take(text[at : at+end]) {
				next = at + end
			}
		}
		i := strings.IndexByte(text[next:], '{')
		if i < 0 {
			return
		}
		at = next + i
	}
}

// objectEnd returns the length of the balanced object at the beginning of a text, -1 if it is never
// closed. Braces inside strings do not count.
func objectEnd(text string) int {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
