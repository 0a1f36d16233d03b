package transcript

// Fast JSON decoding for messages that consist mostly of tool output: one scan finds the values,
// and each is decoded once.

import (
	"ac/internal/canonjson"
)

// textOf decodes a scanned string, "" for any other value.
func textOf(raw []byte) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	return valid(canonjson.Unquote(raw))
}

func isTrue(raw []byte) bool { return string(raw) == "true" }

// scan visits the members of an unchecked object. It reports whether the line is one. If not,
// some members may have been visited.
func scan(line []byte, visit func(name, value []byte)) bool {
	return canonjson.Members(line, func(m canonjson.Member) { visit(m.Key, m.Value) }) == nil
}

// members visits the members of a scanned object. It reports whether raw is one.
func members(raw []byte, visit func(name, value []byte)) bool {
	return canonjson.CheckedMembers(raw, visit)
}

// elements visits the elements of a scanned array. It reports whether raw is one.
func elements(raw []byte, visit func(value []byte)) bool {
	return canonjson.CheckedElements(raw, visit)
}
