package yamldoc

// Codecs: parsing and encoding the text of one document type.

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"ac/internal/fault"
	"ac/internal/shape"
)

// Codec parses and encodes documents of one struct type. It is immutable and safe for
// concurrent use.
type Codec[T any] struct{ plan func() *shape.Plan }

// For returns the codec of a type. It compiles the plan at the first use, because a process
// knows many types and uses few of them.
func For[T any]() Codec[T] {
	return Codec[T]{plan: sync.OnceValue(func() *shape.Plan { return shape.Compile(reflect.TypeFor[T]()) })}
}

// SchemaError is returned for a document that is YAML but does not match its type.
type SchemaError struct{ Issues []fault.Issue }

func (e *SchemaError) Error() string { return fault.JoinIssues(e.Issues) }

// Decode parses a document. The error is a *SchemaError if the text is YAML but does not match
// the type.
func (c Codec[T]) Decode(text []byte) (T, error) {
	var doc T
	value, err := Parse(text)
	if err != nil {
		return doc, err
	}
	return c.Bind(&value)
}

// Bind converts a parsed value into a document.
func (c Codec[T]) Bind(value *shape.Value) (T, error) {
	var doc T
	if issues := c.plan().Bind(value, &doc); len(issues) > 0 {
		return doc, &SchemaError{Issues: issues}
	}
	return doc, nil
}

// Encode encodes a document in block style, with keys in the order of the struct and without
// unset optional keys.
func (c Codec[T]) Encode(doc T) ([]byte, error) {
	return encodeNode(structNode(c.plan(), reflect.ValueOf(doc)))
}

// Rewrite encodes a document over the text of an older version. Known keys get their new
// values; unknown keys, comments and order stay.
func (c Codec[T]) Rewrite(old []byte, doc T) ([]byte, error) {
	root, err := parseNode(old)
	if err != nil {
		return nil, err
	}
	if root == nil || root.Kind != yaml.MappingNode {
		return c.Encode(doc)
	}
	spent := 0
	if root, err = expand(root, &spent); err != nil {
		return nil, err
	}
	c.merge(c.plan(), root, reflect.ValueOf(doc))
	return encodeNode(root)
}

func (c Codec[T]) merge(p *shape.Plan, into *yaml.Node, v reflect.Value) {
	at := 0 // after the last known key
	p.Fields(v, func(name string, value reflect.Value, inner *shape.Plan, omit bool) {
		place := keyIndex(into, name)
		if omit {
			if place >= 0 {
				into.Content = append(into.Content[:place], into.Content[place+2:]...)
				at = min(at, len(into.Content))
			}
			return
		}
		fresh := node(value, inner)
		if place < 0 {
			tail := append([]*yaml.Node{stringNode(name), fresh}, into.Content[at:]...)
			into.Content = append(into.Content[:at:at], tail...)
			at += 2
			return
		}
		into.Content[place+1] = keepStyle(into.Content[place+1], fresh)
		at = place + 2
	})
	into.Style &^= yaml.FlowStyle
}

// keepStyle prefers existing nodes whose meaning is unchanged, to keep their style, order and
// comments.
func keepStyle(old, fresh *yaml.Node) *yaml.Node {
	if sameValue(old, fresh) {
		return old
	}
	fresh.HeadComment, fresh.LineComment, fresh.FootComment = old.HeadComment, old.LineComment, old.FootComment
	switch {
	case old.Kind == yaml.MappingNode && fresh.Kind == yaml.MappingNode:
		fresh.Content = keepEntries(old, fresh)
	case old.Kind == yaml.SequenceNode && fresh.Kind == yaml.SequenceNode:
		keepItems(old, fresh)
	}
	return fresh
}

func sameValue(old, fresh *yaml.Node) bool {
	r := resolver{}
	was, errOld := r.value(old, 0)
	is, errNew := r.value(fresh, 0)
	return errOld == nil && errNew == nil && reflect.DeepEqual(was, is)
}

// keepEntries returns the entries of a fresh mapping: existing ones in their old order, then
// the new ones.
func keepEntries(old, fresh *yaml.Node) (entries []*yaml.Node) {
	values := make(map[string]*yaml.Node, len(fresh.Content)/2)
	for i := 0; i < len(fresh.Content); i += 2 {
		values[fresh.Content[i].Value] = fresh.Content[i+1]
	}
	for i := 0; i < len(old.Content); i += 2 {
		if value, ok := values[old.Content[i].Value]; ok {
			entries = append(entries, old.Content[i], keepStyle(old.Content[i+1], value))
			delete(values, old.Content[i].Value)
		}
	}
	for i := 0; i < len(fresh.Content); i += 2 {
		if _, ok := values[fresh.Content[i].Value]; ok {
			entries = append(entries, fresh.Content[i], fresh.Content[i+1])
		}
	}
	return entries
}

// maxKeptItems bounds the lists whose items are matched against the old ones.
const maxKeptItems = 200

// keepItems keeps the nodes of list items that have not changed.
func keepItems(old, fresh *yaml.Node) {
	if len(old.Content) > maxKeptItems || len(fresh.Content) > maxKeptItems {
		return
	}
	left := slices.Clone(old.Content)
	for i, item := range fresh.Content {
		if at := slices.IndexFunc(left, func(was *yaml.Node) bool { return sameValue(was, item) }); at >= 0 {
			fresh.Content[i] = left[at]
			left = slices.Delete(left, at, at+1)
		}
	}
}

func keyIndex(n *yaml.Node, name string) int {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return i
		}
	}
	return -1
}

// expand copies a tree with its aliases expanded.
func expand(n *yaml.Node, spent *int) (*yaml.Node, error) {
	if *spent++; *spent > 50*maxAliased {
		return nil, fmt.Errorf("aliases repeat more than %d nodes", maxAliased)
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	fresh := *n
	fresh.Anchor = ""
	fresh.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		var err error
		if fresh.Content[i], err = expand(child, spent); err != nil {
			return nil, err
		}
	}
	return &fresh, nil
}
