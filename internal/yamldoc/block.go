package yamldoc

// A fast path for encoding: most documents are written without the library. The library keeps
// every event of a document until its end. For a session's record that is tens of kilobytes,
// which its supervisor would keep for as long as it waits.

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// blockText encodes a mapping in block style, byte for byte as the library does. It returns
// false for what only the library can write: comments, anchors, flow style, texts of several
// lines, and scalars whose style it cannot determine quickly.
func blockText(root *yaml.Node) (text []byte, ok bool) {
	b := block{text: make([]byte, 0, 1024)}
	if root == nil || !isUndecorated(root) || !b.mapping(root, 0) {
		return nil, false
	}
	return append(b.text, '\n'), true
}

type block struct{ text []byte }

// isUndecorated reports whether a node has neither an anchor, an alias nor comments.
func isUndecorated(n *yaml.Node) bool {
	return n.Anchor == "" && n.Alias == nil && n.HeadComment == "" && n.LineComment == "" && n.FootComment == ""
}

// line begins a new line.
func (b *block) line(indent int) {
	b.text = append(b.text, '\n')
	for range indent {
		b.text = append(b.text, ' ')
	}
}

// mapping writes the entries of a mapping that is not empty, the first one at the current
// position.
func (b *block) mapping(n *yaml.Node, indent int) bool {
	if n.Kind != yaml.MappingNode || n.Tag != "" && n.Tag != "!!map" || n.Style != 0 || len(n.Content) < 2 || len(n.Content)%2 != 0 {
		return false
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if i > 0 {
			b.line(indent)
		}
		// Longer and quoted keys may be written with a question mark.
		if !isUndecorated(key) || key.Style != 0 || len(key.Value) > 100 || !b.scalar(key) {
			return false
		}
		b.text = append(b.text, ':')
		if !b.value(n.Content[i+1], indent) {
			return false
		}
	}
	return true
}

// value writes the value after a key.
func (b *block) value(n *yaml.Node, indent int) bool {
	switch {
	case !isUndecorated(n):
		return false
	case n.Kind == yaml.ScalarNode:
		b.text = append(b.text, ' ')
		return b.scalar(n)
	case n.Kind == yaml.MappingNode && len(n.Content) == 0 && (n.Tag == "" || n.Tag == "!!map"):
		b.text = append(b.text, " {}"...)
		return true
	case n.Kind == yaml.MappingNode:
		b.line(indent + 2)
		return b.mapping(n, indent+2)
	case n.Kind != yaml.SequenceNode || n.Tag != "" && n.Tag != "!!seq":
		return false
	case len(n.Content) == 0:
		b.text = append(b.text, " []"...)
		return true
	case n.Style != 0:
		return false
	}
	for _, item := range n.Content {
		b.line(indent + 2)
		b.text = append(b.text, '-', ' ')
		switch {
		case !isUndecorated(item):
			return false
		case item.Kind == yaml.ScalarNode:
			if !b.scalar(item) {
				return false
			}
		case !b.mapping(item, indent+4):
			return false
		}
	}
	return true
}

func (b *block) scalar(n *yaml.Node) bool {
	s := n.Value
	if n.Kind != yaml.ScalarNode || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return false
	}
	switch {
	case n.Style == 0 && plainAs(s, n.Tag):
		b.text = append(b.text, s...)
	case n.Tag != "!!str":
		return false
	case n.Style == yaml.DoubleQuotedStyle && !strings.ContainsAny(s, `"\`):
		b.text = append(append(append(b.text, '"'), s...), '"')
	case n.Style == yaml.SingleQuotedStyle && !strings.Contains(s, "'"):
		b.text = append(append(append(b.text, '\''), s...), '\'')
	default:
		return false
	}
	return true
}

// plainAs reports whether a text without quotes certainly has a tag.
func plainAs(s, tag string) bool {
	switch tag {
	case "!!null":
		return s == "null"
	case "!!bool":
		return s == "true" || s == "false"
	case "!!int":
		digits := strings.TrimPrefix(s, "-")
		return s == "0" || len(digits) < 18 && isDigits(digits) && digits[0] != '0'
	case "!!timestamp":
		_, err := time.Parse(time.RFC3339Nano, s)
		return err == nil && strings.Trim(s, "0123456789-:.TZ") == ""
	case "!!str":
		return s != "" && plain(s) && isText(s)
	}
	return false
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isText reports whether a text without quotes is certainly a string: not a word or a number in
// any version of YAML.
func isText(s string) bool {
	switch c := s[0]; {
	case c == '/' || c == '_':
		return true
	case 'a' <= c|0x20 && c|0x20 <= 'z':
		return !ambiguous(s)
	case '1' <= c && c <= '9' && strings.Trim(s, "0123456789_+-.:eETtZz ,") != "":
		return !ambiguous(s) // a digit of another number than a decimal one, or a letter
	case '0' <= c && c <= '9': // for example a text that begins with a UUID
		return len(s) > 4 && s[4] != '-' && strings.Count(s, "-") > 1
	}
	return false
}
