package yamldoc

// Parsing YAML 1.2 into values, within bounds.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"ac/internal/shape"
)

// Limits of a document. MaxBytes is in bytes.
const (
	MaxBytes     = 16 << 20
	maxAliased   = 10_000
	maxNodeDepth = 1_000
)

// Parse parses one document into a tree of values.
func Parse(text []byte) (shape.Value, error) {
	root, err := parseNode(text)
	if err != nil {
		return shape.Value{}, err
	}
	if root == nil {
		return shape.Value{Kind: shape.Null}, nil
	}
	r := resolver{}
	return r.value(root, 0)
}

// parseNode parses one document into the library's nodes, nil if it is empty.
func parseNode(text []byte) (root *yaml.Node, err error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%d bytes, more than the %d allowed", len(text), MaxBytes)
	}
	if !utf8.Valid(text) {
		return nil, errors.New("not valid UTF-8")
	}
	if root, ok := plainTree(text); ok {
		return root, checkKeys(root, 0)
	}
	if root, err = libraryTree(text); root == nil {
		return nil, err
	}
	return root, checkKeys(root, 0)
}

// libraryTree parses one document of valid UTF-8 with the library.
func libraryTree(text []byte) (root *yaml.Node, err error) {
	defer func() {
		// The library panics on some malformed input.
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("unreadable YAML: %v", r)
		}
	}()
	text = blankTabs(blankDirectives(bytes.TrimPrefix(text, []byte("\uFEFF"))))
	shield := newShield(text)
	dec := yaml.NewDecoder(bytes.NewReader(shield.hide(text)))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, trimLibraryPrefix(err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, errors.New("more than one document in the file")
	} else if !errors.Is(err, io.EOF) {
		return nil, trimLibraryPrefix(err)
	}
	root = doc.Content[0]
	shield.reveal(root)
	return root, nil
}

func trimLibraryPrefix(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
}

// checkKeys rejects mappings with duplicate keys or keys that are not scalars, and excessive
// nesting.
func checkKeys(n *yaml.Node, depth int) error {
	if depth > maxNodeDepth {
		return errors.New("nested too deeply")
	}
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			if key.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: a key must be a scalar", key.Line)
			}
			if seen[key.Value] {
				return fmt.Errorf("line %d: key %q occurs twice", key.Line, key.Value)
			}
			seen[key.Value] = true
		}
	}
	for _, child := range n.Content {
		if err := checkKeys(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// resolver converts nodes to values and counts the nodes that aliases repeat (alias bombs).
type resolver struct {
	aliased int
	inAlias int
}

func (r *resolver) value(n *yaml.Node, depth int) (shape.Value, error) {
	if depth > maxNodeDepth {
		return shape.Value{}, errors.New("nested too deeply")
	}
	if r.inAlias > 0 {
		if r.aliased++; r.aliased > maxAliased {
			return shape.Value{}, fmt.Errorf("aliases repeat more than %d nodes", maxAliased)
		}
	}
	switch n.Kind {
	case yaml.AliasNode:
		r.inAlias++
		v, err := r.value(n.Alias, depth+1)
		r.inAlias--
		return v, err
	case yaml.MappingNode:
		v := shape.Value{Kind: shape.Map, Keys: slices.Grow([]string(nil), len(n.Content)/2), Items: slices.Grow([]shape.Value(nil), len(n.Content)/2)}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			item, err := r.value(n.Content[i+1], depth+1)
			if err != nil {
				return v, err
			}
			v.Keys = append(v.Keys, key.Value)
			v.Items = append(v.Items, item)
		}
		return v, nil
	case yaml.SequenceNode:
		v := shape.Value{Kind: shape.List, Items: slices.Grow([]shape.Value(nil), len(n.Content))}
		for _, child := range n.Content {
			item, err := r.value(child, depth+1)
			if err != nil {
				return v, err
			}
			v.Items = append(v.Items, item)
		}
		return v, nil
	}
	return scalar(n)
}

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func scalar(n *yaml.Node) (shape.Value, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		v := resolve(n.Value)
		switch n.Tag {
		case "!!str", "!":
			return shape.Value{Kind: shape.String, Text: n.Value}, nil
		case "!!null", "!!bool":
			return v, nil
		case "!!int", "!!float":
			if v.Kind != shape.Number {
				return v, fmt.Errorf("line %d: %q is not a number", n.Line, n.Value)
			}
			return v, nil
		}
		return v, fmt.Errorf("line %d: unknown tag %s", n.Line, n.Tag)
	}
	if n.Style&quoted != 0 {
		return shape.Value{Kind: shape.String, Text: n.Value}, nil
	}
	return resolve(n.Value), nil
}

// resolve determines the value of a plain scalar by the core schema of YAML
// 1.2.2, section 10.3.2.
func resolve(s string) shape.Value {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return shape.Value{Kind: shape.Null}
	case "true", "True", "TRUE":
		return shape.Value{Kind: shape.Bool, Bool: true}
	case "false", "False", "FALSE":
		return shape.Value{Kind: shape.Bool}
	case ".nan", ".NaN", ".NAN":
		return shape.Value{Kind: shape.Number, Num: math.NaN()}
	}
	if n, ok := number(s); ok {
		return shape.Value{Kind: shape.Number, Num: n}
	}
	return shape.Value{Kind: shape.String, Text: s}
}

func number(s string) (float64, bool) {
	if base := baseOf(s); base != 0 {
		if digits := s[2:]; digits != "" && !strings.ContainsAny(digits, "+-_") {
			n, err := strconv.ParseUint(digits, base, 64)
			return float64(n), err == nil
		}
	}
	body := strings.TrimLeft(s[:min(1, len(s))], "+-") + s[min(1, len(s)):]
	switch body {
	case ".inf", ".Inf", ".INF":
		if s[0] == '-' {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	}
	if !isDecimal(body) {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// baseOf returns the base that a number's prefix states, 0 if it has none.
func baseOf(s string) int {
	switch {
	case strings.HasPrefix(s, "0o"):
		return 8
	case strings.HasPrefix(s, "0x"):
		return 16
	}
	return 0
}

// isDecimal matches ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
func isDecimal(s string) bool {
	digits := func() (n int) {
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n
	}
	whole := digits()
	if s != "" && s[0] == '.' {
		s = s[1:]
		if digits() == 0 && whole == 0 {
			return false
		}
	} else if whole == 0 {
		return false
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s[1:], "+"), "-")
	return digits() > 0 && s == ""
}
