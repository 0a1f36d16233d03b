// Package shape binds trees of values, from JSON or YAML, to Go structs by the
// tags of their fields, and reports every field that does not fit. The same
// tags give the JSON Schema of a struct.
//
// A field is described by two tags. `json` names it. `is` holds rules,
// separated by commas:
//
//	optional     may be absent (the field keeps its zero value)
//	default=V    may be absent and is V then
//	nullable     may be absent or null, which leave the field as it is; written as null
//	empty        a string may be empty (others may not)
//	object       a Value must be an object
//	enum=A|B     one of these words
//	min=N max=N  bounds of a number, both allowed; gt=N excludes the bound
//	cut=N        larger numbers are taken as N
//	minlen=N     shortest text, in bytes; maxbytes=N longest
//	minitems=N   shortest list
//	id           a path segment: see CheckID
//	path         text without NUL
//	time         a timestamp as package clock reads it
//	strict       on a field named _: unknown keys of this struct are issues
//	needed       on a field named _: the struct may not be left out
//
// A null is never an absent field. Binding stops at nothing: all issues are
// reported, in the order of the struct.
package shape

import (
	"fmt"
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

// Value is one value of a tree. Text is the text of a string; Num the value of
// a number; Items are the elements of a list or the values of a map, whose
// keys stand in Keys at the same places.
type Value struct {
	Kind  Kind
	Bool  bool
	Num   float64
	Text  string
	Keys  []string
	Items []Value
}

// Get gives the value of a key, Absent when the map has none.
func (v *Value) Get(key string) *Value {
	for i := len(v.Keys) - 1; i >= 0; i-- {
		if v.Keys[i] == key {
			return &v.Items[i]
		}
	}
	return &Value{}
}

// maxIDBytes bounds the ids that become path segments.
const maxIDBytes = 200

// CheckID says why a text cannot be an id that becomes a path segment, or "".
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
