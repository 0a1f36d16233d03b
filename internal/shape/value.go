package shape

// Value is the content of a document, whatever its format.

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	List
	Map
)

var kindNames = [...]string{"nothing", "null", "boolean", "number", "string", "array", "object"}

func (k Kind) String() string { return kindNames[k] }

// Value is one node of a tree. Text is the text of a string, Num the value of a
// number, Items the elements of a list or the values of a map. Keys holds the
// keys of a map, at the indexes of their values.
type Value struct {
	Kind  Kind
	Bool  bool
	Num   float64
	Text  string
	Keys  []string
	Items []Value
}

// Get returns the value of a key, Absent if the map does not have it.
func (v *Value) Get(key string) *Value {
	for i := len(v.Keys) - 1; i >= 0; i-- {
		if v.Keys[i] == key {
			return &v.Items[i]
		}
	}
	return &Value{}
}

// Without returns a copy of a map without some of its keys.
func (v *Value) Without(keys ...string) Value {
	kept := *v
	kept.Keys, kept.Items = nil, nil
	for i, key := range v.Keys {
		if !slices.Contains(keys, key) {
			kept.Keys, kept.Items = append(kept.Keys, key), append(kept.Items, v.Items[i])
		}
	}
	return kept
}

// maxIDBytes bounds ids that become path segments.
const maxIDBytes = 200

// CheckID returns why a text cannot be an ID that becomes a path segment, or "" if it can. It
// is the defense against path traversal by IDs.
func CheckID(id string) string {
	switch {
	case id == "":
		return "must not be empty"
	case len(id) > maxIDBytes:
		return fmt.Sprintf("must have at most %d bytes", maxIDBytes)
	case id == "." || id == "..":
		return "must not be " + id
	case !utf8.ValidString(id):
		return "must be valid UTF-8"
	case strings.ContainsAny(id, `/\`):
		return `must not contain / or \`
	}
	for _, r := range id {
		if r < 0x20 || (r >= 0x7F && r < 0xA0) {
			return "must not contain control characters"
		}
	}
	return ""
}
