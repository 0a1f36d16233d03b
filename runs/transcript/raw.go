package transcript

// Reading JSON where most of a message is output of tools: its values are found by one
// scan and decoded once.

import (
	"ac/internal/canonjson"
)

// textOf is the text of a value that was scanned, "" for one that is none.
func textOf(raw []byte) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	return valid(canonjson.Unquote(raw))
}

func isTrue(raw []byte) bool { return string(raw) == "true" }

// members visits the members of an object. It reports whether it is one.
func members(raw []byte, visit func(name string, value []byte)) bool {
	return canonjson.Members(raw, func(m canonjson.Member) { visit(string(m.Key), m.Value) }) == nil
}

// elements visits the elements of a list. It reports whether it is one.
func elements(raw []byte, visit func(value []byte)) bool {
	return canonjson.Elements(raw, visit) == nil
}
