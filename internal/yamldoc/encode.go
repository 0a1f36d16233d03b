package yamldoc

// Encoding: from values to nodes to text, also into the nodes of an existing document.

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ac/internal/clock"
	"ac/internal/shape"
)

func encodeNode(n *yaml.Node) ([]byte, error) {
	if text, ok := blockText(n); ok {
		return text, nil
	}
	return libraryText(n)
}

func libraryText(n *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(n), enc.Close()); err != nil {
		return nil, fmt.Errorf("encode YAML: %w", err)
	}
	return out.Bytes(), nil
}

// structNode returns a mapping with the fields of a struct, in order.
func structNode(p *shape.Plan, v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	p.Fields(v, func(name string, value reflect.Value, inner *shape.Plan, omit bool) {
		if !omit {
			n.Content = append(n.Content, stringNode(name), node(value, inner))
		}
	})
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

func node(v reflect.Value, inner *shape.Plan) *yaml.Node {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
		}
		return node(v.Elem(), inner)
	case reflect.Struct:
		if value, ok := v.Interface().(shape.Value); ok {
			return valueNode(value)
		}
		return structNode(inner, v)
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, node(v.Index(i), inner))
		}
		if v.Len() == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			n.Content = append(n.Content, stringNode(key.String()), node(v.MapIndex(key), inner))
		}
		if len(keys) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case reflect.String:
		return stringNode(v.String())
	case reflect.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}
	case reflect.Float64:
		return numberNode(v.Float())
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}
}

func numberNode(f float64) *yaml.Node {
	text, tag := strconv.FormatFloat(f, 'f', -1, 64), "!!int"
	switch {
	case math.IsNaN(f):
		text = ".nan"
	case math.IsInf(f, 1):
		text = ".inf"
	case math.IsInf(f, -1):
		text = "-.inf"
	}
	if strings.Contains(text, ".") {
		tag = "!!float"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: text}
}

// EncodeValue encodes a document of unknown shape, with its keys in order.
func EncodeValue(v shape.Value) ([]byte, error) { return encodeNode(valueNode(v)) }

// valueNode returns the node of a value of unknown shape.
func valueNode(v shape.Value) *yaml.Node {
	switch v.Kind {
	case shape.Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for i, key := range v.Keys {
			n.Content = append(n.Content, stringNode(key), valueNode(v.Items[i]))
		}
		if len(v.Keys) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case shape.List:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v.Items {
			n.Content = append(n.Content, valueNode(item))
		}
		if len(v.Items) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case shape.String:
		return stringNode(v.Text)
	case shape.Bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool)}
	case shape.Number:
		return numberNode(v.Num)
	default: // Null; Absent is also written as null
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
}

func stringNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case isTimestamp(s): // stays plain: parsers read it as text, and other programs write it that way
		if _, err := time.Parse(time.RFC3339Nano, s); err == nil {
			n.Tag = "!!timestamp" // otherwise the library would quote it
		}
	case strings.ContainsFunc(s, unprintable):
		n.Style = yaml.DoubleQuotedStyle
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
		if !literalSafe(s) {
			n.Style = yaml.DoubleQuotedStyle
		}
	case ambiguous(s) || !plain(s):
		n.Style = quotes(s)
	}
	return n
}

// quotes returns the quoting style of a text: double quotes, or single quotes if that avoids
// escapes.
func quotes(s string) yaml.Style {
	if strings.Contains(s, `"`) && !strings.Contains(s, "'") {
		return yaml.SingleQuotedStyle
	}
	return yaml.DoubleQuotedStyle
}

// plain reports whether a line needs no quotes: nothing in it has a meaning in
// YAML.
func plain(s string) bool {
	if strings.Trim(s, " ") != s || strings.HasSuffix(s, ":") || strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") {
		return false
	}
	if strings.IndexByte("-?:", s[0]) >= 0 {
		return len(s) > 1 && s[1] != ' '
	}
	return strings.IndexByte(",[]{}#&*!|>'\"%@`", s[0]) < 0
}

// isTimestamp reports whether a text is a timestamp in the syntax of our formats: date and
// time. A date alone is not.
func isTimestamp(s string) bool {
	_, ok := clock.Parse(s)
	return ok
}

func unprintable(r rune) bool {
	return (r < 0x20 && r != '\n') || isSpecial(r) || r == 0xFFFE || r == 0xFFFF
}

func literalSafe(s string) bool {
	if strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\n") {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimRight(line, " ") != line {
			return false
		}
	}
	return true
}

// ambiguous reports whether a YAML 1.1 or 1.2 parser could read a plain scalar as anything but
// this text.
func ambiguous(s string) bool {
	switch lowerWord(s) {
	case "", "~", "null", "true", "false", "y", "n", "yes", "no", "on", "off", "<<", "=", "---", "...":
		return true
	}
	if isHour(s) {
		return false // a date followed by more is not a time in any version of YAML
	}
	if strings.IndexByte("0123456789+-.", s[0]) >= 0 && strings.ContainsAny(s, "0123456789") {
		digits := "0123456789_+-.:eETtZz ,"
		if strings.HasPrefix(strings.TrimLeft(s, "+-"), "0") {
			digits += "abcdfABCDFxXoO" // hexadecimal, octal, binary
		}
		return strings.Trim(s, digits) == ""
	}
	switch lowerWord(strings.TrimLeft(s, "+-")) {
	case ".inf", ".nan":
		return true
	}
	return false
}

// isHour reports whether a text names an hour in the form of our keys:
// 2026-11-20-15.
func isHour(s string) bool {
	const pattern = "0000-00-00-00"
	if len(s) != len(pattern) {
		return false
	}
	for i := range len(s) {
		if digit := '0' <= s[i] && s[i] <= '9'; digit != (pattern[i] == '0') || (!digit && s[i] != '-') {
			return false
		}
	}
	return true
}

// lowerWord returns a text in lower case, or unchanged if it is longer than any word with a
// meaning. The lower case of a non-ASCII letter may be ASCII.
func lowerWord(s string) string {
	if len(s) > 3*len("false") {
		return s
	}
	return strings.ToLower(s)
}
