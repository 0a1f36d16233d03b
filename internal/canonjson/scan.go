package canonjson

// Scanning raw JSON text: where values end, and which members an object has.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrNoObject is returned by Members for JSON that is not an object.
var ErrNoObject = errors.New("not a JSON object")

var errEnd = errors.New("unexpected end of JSON")

// Member is one member of an object: its decoded key and the raw text of its value, both valid
// as long as the text. Start is the offset of the key, End the offset after the value.
type Member struct {
	Key        []byte
	Value      []byte
	Start, End int
}

// Members calls visit for each member of the object that text consists of, in
// the order of the text, once for each occurrence of a key. It fails if text is
// not exactly one JSON object; visit may have been called by then.
func Members(text []byte, visit func(Member)) error {
	at := skipSpace(text, 0)
	if at == len(text) {
		return errEnd
	}
	if text[at] != '{' {
		if end, err := Value(text, at); err != nil {
			return err
		} else if skipSpace(text, end) != len(text) {
			return unexpected(text, end)
		}
		return ErrNoObject
	}
	end, err := object(text, at, 1, visit)
	if err != nil {
		return err
	}
	if skipSpace(text, end) != len(text) {
		return unexpected(text, end)
	}
	return nil
}

// ErrNoArray is returned by Elements for JSON that is not an array.
var ErrNoArray = errors.New("not a JSON array")

// Elements calls visit for each element of the array that text consists of, in order. It fails
// if text is not exactly one JSON array; visit may have been called by then.
func Elements(text []byte, visit func(value []byte)) error {
	at := skipSpace(text, 0)
	if at == len(text) {
		return errEnd
	}
	if text[at] != '[' {
		if end, err := Value(text, at); err != nil {
			return err
		} else if skipSpace(text, end) != len(text) {
			return unexpected(text, end)
		}
		return ErrNoArray
	}
	end, err := array(text, at, 1, visit)
	if err != nil {
		return err
	}
	if skipSpace(text, end) != len(text) {
		return unexpected(text, end)
	}
	return nil
}

// Value checks the JSON value at or after offset at and returns where it ends.
// Trailing white space is not part of it.
func Value(text []byte, at int) (end int, err error) { return value(text, at, 0) }

func value(text []byte, at, depth int) (int, error) {
	at = skipSpace(text, at)
	if at >= len(text) {
		return at, errEnd
	}
	switch c := text[at]; {
	case c == '{':
		return object(text, at, depth+1, nil)
	case c == '[':
		return array(text, at, depth+1, nil)
	case c == '"':
		return str(text, at)
	case c == '-' || (c >= '0' && c <= '9'):
		return number(text, at)
	case c == 't':
		return literal(text, at, "true")
	case c == 'f':
		return literal(text, at, "false")
	case c == 'n':
		return literal(text, at, "null")
	}
	return at, unexpected(text, at)
}

func object(text []byte, at, depth int, visit func(Member)) (int, error) {
	if depth > MaxDepth {
		return at, ErrDepth
	}
	at = skipSpace(text, at+1)
	if at < len(text) && text[at] == '}' {
		return at + 1, nil
	}
	for {
		if at >= len(text) {
			return at, errEnd
		}
		if text[at] != '"' {
			return at, unexpected(text, at)
		}
		start := at
		keyEnd, err := str(text, at)
		if err != nil {
			return keyEnd, err
		}
		at = skipSpace(text, keyEnd)
		if at >= len(text) {
			return at, errEnd
		}
		if text[at] != ':' {
			return at, unexpected(text, at)
		}
		from := skipSpace(text, at+1)
		end, err := value(text, from, depth)
		if err != nil {
			return end, err
		}
		if visit != nil {
			visit(Member{Key: unquoted(text[start:keyEnd]), Value: text[from:end], Start: start, End: end})
		}
		at = skipSpace(text, end)
		if at >= len(text) {
			return at, errEnd
		}
		if text[at] == '}' {
			return at + 1, nil
		}
		if text[at] != ',' {
			return at, unexpected(text, at)
		}
		at = skipSpace(text, at+1)
	}
}

func array(text []byte, at, depth int, visit func([]byte)) (int, error) {
	if depth > MaxDepth {
		return at, ErrDepth
	}
	at = skipSpace(text, at+1)
	if at < len(text) && text[at] == ']' {
		return at + 1, nil
	}
	for {
		from := skipSpace(text, at)
		end, err := value(text, from, depth)
		if err != nil {
			return end, err
		}
		if visit != nil {
			visit(text[from:end])
		}
		at = skipSpace(text, end)
		if at >= len(text) {
			return at, errEnd
		}
		if text[at] == ']' {
			return at + 1, nil
		}
		if text[at] != ',' {
			return at, unexpected(text, at)
		}
		at++
	}
}

// plainRun returns the end of the run of bytes, from i on, that need no escape in a string. It
// checks eight bytes at once: each of the three terms sets the highest bit of a byte that is
// below 0x20, a quote or a backslash. A borrow can also set that bit in a byte above such a
// byte, so only the lowest set bit counts.
func plainRun(text []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		quote, escape := w^(ones*'"'), w^(ones*'\\')
		if found := ((w-ones*0x20)&^w | (quote-ones)&^quote | (escape-ones)&^escape) & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && plain[text[i]] {
		i++
	}
	return i
}

// plain marks the bytes that may appear unescaped in a string, regardless of
// what follows.
var plain = func() (table [256]bool) {
	for c := 0x20; c < 256; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

func str(text []byte, at int) (int, error) {
	for i := at + 1; i < len(text); {
		if i = plainRun(text, i); i == len(text) {
			break
		}
		c := text[i]
		if c == '"' {
			return i + 1, nil
		}
		if c != '\\' {
			return i, fmt.Errorf("control character in a string at byte %d", i)
		}
		if i+1 >= len(text) {
			return i, errEnd
		}
		switch text[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if i+6 > len(text) {
				return i, errEnd
			}
			for _, h := range text[i+2 : i+6] {
				if (h < '0' || h > '9') && (h < 'a' || h > 'f') && (h < 'A' || h > 'F') {
					return i, unexpected(text, i)
				}
			}
			i += 6
		default:
			return i, unexpected(text, i)
		}
	}
	return len(text), errEnd
}

func number(text []byte, at int) (int, error) {
	i := at
	if text[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		return i > from
	}
	whole := i
	if !digits() || (text[whole] == '0' && i > whole+1) {
		return i, unexpected(text, at)
	}
	if i < len(text) && text[i] == '.' {
		i++
		if !digits() {
			return i, unexpected(text, at)
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if !digits() {
			return i, unexpected(text, at)
		}
	}
	return i, nil
}

func literal(text []byte, at int, word string) (int, error) {
	if !bytes.HasPrefix(text[at:], []byte(word)) {
		return at, unexpected(text, at)
	}
	return at + len(word), nil
}

func skipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
		at++
	}
	return at
}

// unquoted decodes a checked literal. Without escapes it returns a slice of the
// text itself.
func unquoted(literal []byte) []byte {
	if body := literal[1 : len(literal)-1]; bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	return []byte(Unquote(literal))
}

// stringEnd and numberEnd find the end of a token in checked text.
func stringEnd(text []byte, at int) int { end, _ := str(text, at); return end }
func numberEnd(text []byte, at int) int { end, _ := number(text, at); return end }

func unexpected(text []byte, at int) error {
	if at >= len(text) {
		return errEnd
	}
	return fmt.Errorf("unexpected %q at byte %d", text[at], at)
}

// Depth returns the nesting depth of the objects and arrays of a text, whether or not it is
// valid JSON.
func Depth(text []byte) (deepest int) {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}
