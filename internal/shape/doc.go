// Package shape binds trees of values, from JSON or YAML, to Go structs by the
// tags of their fields, and reports every invalid field. The JSON Schema of a
// struct comes from the same tags.
//
// A field is described by two tags. `json` names it. `is` holds rules,
// separated by commas:
//
//	optional     may be absent (the field keeps its zero value)
//	default=V    may be absent, and is then V
//	nullable     may be absent or null, which leaves the field unchanged; written as null
//	empty        a string may be empty (others may not)
//	object       a Value must be an object
//	enum=A|B     one of these words
//	visibility   one of the words of that name, see Words; role likewise
//	min=N max=N  inclusive bounds of a number; gt=N is an exclusive minimum
//	cut=N        larger numbers become N
//	minlen=N     shortest text, in bytes; maxbytes=N longest
//	minitems=N   shortest list
//	id           a path segment: see CheckID
//	path         text without NUL, not longer than systems accept
//	time         a timestamp that package clock parses
//	strict       on a field named _: unknown keys of this struct are issues
//	needed       on a field named _: the struct may not be left out
//
// Binding never stops at the first fault: all issues are reported, in the order
// of the struct. A null is never treated as an absent field.
package shape
