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

// scan visits the members of an object that was not checked yet. It reports whether it is
// one; members may have been visited by then.
func scan(line []byte, visit func(name, value []byte)) bool {
	return canonjson.Members(line, func(m canonjson.Member) { visit(m.Key, m.Value) }) == nil
}

// members visits the members of an object that was scanned. It reports whether it is one.
func members(raw []byte, visit func(name, value []byte)) bool {
	return canonjson.CheckedMembers(raw, visit)
}

// elements visits the elements of a list that was scanned. It reports whether it is one.
func elements(raw []byte, visit func(value []byte)) bool {
	return canonjson.CheckedElements(raw, visit)
}
