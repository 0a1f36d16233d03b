package yamldoc

// A fast path for parsing: most documents are read without the library, which allocates 12 KB
// for a record of nine lines. It is the counterpart of block.go.

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// plainTree parses a document of block mappings and sequences whose scalars, plain or quoted,
// are on one line. It returns the same nodes as the library. It returns false for everything
// else and for every fault: comments, anchors, tags, escapes, flow style except {} and [],
// texts of several lines, blank lines, anything but printable ASCII, and scalars whose tag it
// cannot determine quickly. It keeps duplicate keys, as the library does.
func plainTree(text []byte) (root *yaml.Node, ok bool) {
	lines := 1
	for _, c := range text {
		switch {
		case c == '\n':
			lines++
		case c < ' ' || c > '~':
			return nil, false
		}
	}
	nodes := min(2*lines, nodesAtOnce)
	p := plainText{rest: string(text), long: len(text) > longText, nodes: make([]yaml.Node, 0, nodes), open: make([]*yaml.Node, 0, nodes)}
	p.next()
	root = p.block(0, 0)
	return root, root != nil && p.indent < 0
}

// nodesAtOnce bounds the number of nodes that are allocated in advance.
const nodesAtOnce = 64

// maxPlainDepth bounds the nesting that is parsed without the library.
const maxPlainDepth = 100

// maxPlainKey bounds the length of keys, because the library rejects very long ones.
const maxPlainKey = 100

// longText is the size above which scalars are copied. A scalar that is not copied keeps the
// text of its whole document in memory.
const longText = 4 << 10

// plainText parses a document. Its methods return nil, or false, for what is left to the
// library.
type plainText struct {
	rest   string // the lines that follow
	here   string // the rest of this line
	indent int    // the column where here begins, from 0; -1 at the end of the text
	line   int    // from 1
	long   bool
	nodes  []yaml.Node
	open   []*yaml.Node // children of the collections that are being parsed
}

// next advances to the next line.
func (p *plainText) next() {
	if p.rest == "" {
		p.here, p.indent = "", -1
		return
	}
	var line string
	line, p.rest, _ = strings.Cut(p.rest, "\n")
	p.here = strings.TrimLeft(line, " ")
	p.indent = len(line) - len(p.here)
	p.line++
}

// node returns a new node that begins in this line.
func (p *plainText) node(kind yaml.Kind, tag string, column int) *yaml.Node {
	if len(p.nodes) == cap(p.nodes) {
		p.nodes = make([]yaml.Node, 0, nodesAtOnce)
	}
	p.nodes = append(p.nodes, yaml.Node{Kind: kind, Tag: tag, Line: p.line, Column: column + 1})
	return &p.nodes[len(p.nodes)-1]
}

// block parses the collection that begins here, up to the first line of another indent. If no
// parent has that indent either, the end of the text is never reached, and plainTree fails.
func (p *plainText) block(indent, depth int) *yaml.Node {
	if p.indent != indent || depth > maxPlainDepth {
		return nil
	}
	before, read, n := len(p.open), p.entry, p.node(yaml.MappingNode, "!!map", indent)
	if strings.HasPrefix(p.here, "- ") {
		n.Kind, n.Tag, read = yaml.SequenceNode, "!!seq", p.item
	}
	for p.indent == indent {
		if n.Kind == yaml.SequenceNode && !strings.HasPrefix(p.here, "- ") {
			break // the next key of a mapping whose sequences are not indented
		}
		if !read(depth) {
			return nil
		}
	}
	n.Content = slices.Clone(p.open[before:])
	p.open = p.open[:before]
	return n
}

// item parses an item of a sequence.
func (p *plainText) item(depth int) bool {
	p.here, p.indent = p.here[len("- "):], p.indent+len("- ")
	var n *yaml.Node
	_, _, isEntry := cutEntry(p.here)
	if isEntry && p.here[0] != '"' && p.here[0] != '\'' || strings.HasPrefix(p.here, "- ") {
		n = p.block(p.indent, depth+1)
	} else if n = p.value(p.here, p.indent); n != nil {
		p.next()
	}
	p.open = append(p.open, n)
	return n != nil
}

// entry parses a key of a mapping and its value.
func (p *plainText) entry(depth int) bool {
	name, text, ok := cutEntry(p.here)
	// A shield replaces an escaped slash by one character, so the library counts fewer columns.
	if !ok || len(name) > maxPlainKey || strings.Contains(name, `\`) {
		return false
	}
	key, indent := p.scalar(name, p.indent), p.indent
	if key == nil {
		return false
	}
	p.open = append(p.open, key)
	var n *yaml.Node
	if text != "" {
		n = p.value(text, indent+len(name)+len(": "))
		p.next()
	} else if p.next(); p.indent > indent || p.indent == indent && strings.HasPrefix(p.here, "- ") {
		n = p.block(p.indent, depth+1)
	}
	p.open = append(p.open, n)
	return n != nil
}

// cutEntry splits a line after its key. The text is empty if the value is on the next lines.
func cutEntry(line string) (key, text string, ok bool) {
	if key, text, ok = strings.Cut(line, ": "); !ok {
		key, ok = strings.CutSuffix(line, ":")
	}
	return key, text, ok
}

// value returns the node of a text that is the rest of its line.
func (p *plainText) value(s string, column int) *yaml.Node {
	switch {
	case s == "":
		return nil
	case s == "{}":
		n := p.node(yaml.MappingNode, "!!map", column)
		n.Style = yaml.FlowStyle
		return n
	case s == "[]":
		n := p.node(yaml.SequenceNode, "!!seq", column)
		n.Style = yaml.FlowStyle
		return n
	case s[0] == '"':
		return p.quotedScalar(s, `"\`, yaml.DoubleQuotedStyle, column)
	case s[0] == '\'':
		return p.quotedScalar(s, "'", yaml.SingleQuotedStyle, column)
	}
	return p.scalar(s, column)
}

// quotedScalar returns the node of a quoted text, nil if it has any of the special characters
// in it.
func (p *plainText) quotedScalar(s, special string, style yaml.Style, column int) *yaml.Node {
	if len(s) < 2 || s[len(s)-1] != s[0] || strings.ContainsAny(s[1:len(s)-1], special) {
		return nil
	}
	n := p.node(yaml.ScalarNode, "!!str", column)
	n.Value, n.Style = p.own(s[1:len(s)-1]), style
	return n
}

// scalar returns the node of a plain scalar.
func (p *plainText) scalar(s string, column int) *yaml.Node {
	if s == "" || !plain(s) {
		return nil
	}
	tag := plainTag(s)
	if tag == "" {
		return nil
	}
	n := p.node(yaml.ScalarNode, tag, column)
	n.Value = p.own(s)
	return n
}

// own returns a part of the text for a node to keep.
func (p *plainText) own(s string) string {
	if p.long {
		return strings.Clone(s)
	}
	return s
}

// plainTag returns the tag that the library resolves a plain scalar to, "" if that is not
// certain. The library examines only scalars with certain first characters more closely.
func plainTag(s string) string {
	switch s {
	case "null", "Null", "NULL":
		return "!!null"
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return "!!bool"
	}
	switch {
	case strings.IndexByte("+-.~<0123456789", s[0]) < 0, strings.HasPrefix(s, "--"):
		return "!!str"
	case s[0] == '-' && len(s) > 1 && 'a' <= s[1]|0x20 && s[1]|0x20 <= 'z': // an option of a command
		return "!!str"
	}
	if whole, decimals, ok := strings.Cut(s, "."); ok && len(s) < 18 && isDigits(whole) && isDigits(decimals) {
		return "!!float"
	}
	for _, tag := range [...]string{"!!int", "!!timestamp", "!!str"} {
		if plainAs(s, tag) {
			return tag
		}
	}
	return ""
}
