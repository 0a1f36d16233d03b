package canonjson

// Traversing JSON that was checked before. These functions only find where values end, which is
// several times faster than checking again: strings are most of what agents print.

import "bytes"

// CheckedMembers calls visit for each member of an object, in text that Members, Elements or
// Value accepted, such as the value of a Member. The key is decoded, the value raw; both are
// valid as long as the text. It reports whether the text is an object.
func CheckedMembers(text []byte, visit func(key, value []byte)) (object bool) {
	at := skipSpace(text, 0)
	if at == len(text) || text[at] != '{' {
		return false
	}
	for at = skipSpace(text, at+1); at < len(text) && text[at] == '"'; {
		keyEnd := checkedString(text, at)
		key := text[at:keyEnd]
		at = skipSpace(text, skipSpace(text, keyEnd)+1)
		end := checkedValue(text, at)
		if at >= end {
			return false
		}
		visit(unquoted(key), text[at:end])
		if at = skipSpace(text, end); at < len(text) && text[at] == ',' {
			at = skipSpace(text, at+1)
		}
	}
	return at < len(text) && text[at] == '}'
}

// CheckedElements is CheckedMembers for the elements of an array.
func CheckedElements(text []byte, visit func(value []byte)) (array bool) {
	at := skipSpace(text, 0)
	if at == len(text) || text[at] != '[' {
		return false
	}
	for at = skipSpace(text, at+1); at < len(text) && text[at] != ']'; {
		end := checkedValue(text, at)
		if at >= end {
			return false
		}
		visit(text[at:end])
		if at = skipSpace(text, end); at < len(text) && text[at] == ',' {
			at = skipSpace(text, at+1)
		}
	}
	return at < len(text)
}

// checkedValue returns the end of the value at an offset, at most the end of the text.
func checkedValue(text []byte, at int) int {
	if at >= len(text) {
		return at
	}
	switch text[at] {
	case '"':
		return checkedString(text, at)
	case '{', '[':
	default:
		for at < len(text) && text[at] > ' ' && text[at] != ',' && text[at] != '}' && text[at] != ']' {
			at++
		}
		return at
	}
	for depth := 0; at < len(text); {
		switch text[at] {
		case '"':
			at = checkedString(text, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if at++; depth == 0 {
			return at
		}
	}
	return at
}

// checkedString returns the end of the literal at an offset, at most the end of the text.
func checkedString(text []byte, at int) int {
	for i := at + 1; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		i += n
		escapes := i
		for escapes > at+1 && text[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return i + 1
		}
	}
}
