// Package canonjson writes JSON in the ECMAScript form that event hashes are
// computed over, and scans raw JSON text without building values from it.
//
// The canonical text of a value:
//   - has no white space;
//   - keeps members in the order of the text, except that keys which are array
//     indexes come first, in ascending order;
//   - keeps the last value of a duplicate key, at the position of the first;
//   - escapes in strings only what JSON requires; lone surrogates survive as
//     \udxxx;
//   - prints numbers as ECMAScript prints an IEEE double.
package canonjson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth bounds the nesting of scanned text: deeper text is an error, not a
// stack overflow.
const MaxDepth = 10_000

// ErrDepth is returned for text nested deeper than MaxDepth.
var ErrDepth = errors.New("JSON nested too deeply")

// Marshal encodes a Go value canonically. It uses the tags of encoding/json.
func Marshal(v any) ([]byte, error) {
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return Canonical(nil, plain.Bytes())
}

// Canonical appends the canonical text of one JSON value to dst.
func Canonical(dst, text []byte) ([]byte, error) { return CanonicalWithout(dst, text, "") }

// CanonicalWithout is Canonical for an object without one of its own members;
// an empty name omits nothing.
func CanonicalWithout(dst, text []byte, member string) ([]byte, error) {
	end, err := Value(text, 0)
	if err != nil {
		return dst, err
	}
	if skipSpace(text, end) != len(text) {
		return dst, fmt.Errorf("unexpected text at byte %d", end)
	}
	w := writer{out: dst}
	w.value(text, skipSpace(text, 0), member)
	return w.out, nil
}

// writer walks text that Value has accepted, so it needs no checks of its own.
type writer struct{ out []byte }

// piece is one written member: its key and the range of its text in the output.
type piece struct {
	index      int64 // the key as an array index, or -1
	start, end int
}

func (w *writer) value(text []byte, at int, without string) int {
	switch c := text[at]; c {
	case '{':
		return w.object(text, at, without)
	case '[':
		return w.array(text, at)
	case '"':
		end := stringEnd(text, at)
		w.out = AppendString(w.out, Unquote(text[at:end]))
		return end
	case 't', 'f', 'n':
		end := at + 4
		if c == 'f' {
			end++
		}
		w.out = append(w.out, text[at:end]...)
		return end
	default:
		end := numberEnd(text, at)
		f, _ := strconv.ParseFloat(string(text[at:end]), 64)
		w.out = AppendNumber(w.out, f)
		return end
	}
}

func (w *writer) array(text []byte, at int) int {
	w.out = append(w.out, '[')
	at = skipSpace(text, at+1)
	for first := true; text[at] != ']'; first = false {
		if !first {
			w.out = append(w.out, ',')
			at = skipSpace(text, at+1)
		}
		at = skipSpace(text, w.value(text, at, ""))
	}
	w.out = append(w.out, ']')
	return at + 1
}

// object writes the members in one pass, in their order. It reorders them afterwards if that is
// not the canonical order.
func (w *writer) object(text []byte, at int, without string) int {
	w.out = append(w.out, '{')
	from := len(w.out)
	var pieces []piece
	places := map[string]int{}
	ordered := true
	for at = skipSpace(text, at+1); text[at] != '}'; at = skipSpace(text, at) {
		if text[at] == ',' {
			at = skipSpace(text, at+1)
		}
		keyEnd := stringEnd(text, at)
		key := Unquote(text[at:keyEnd])
		at = skipSpace(text, skipSpace(text, keyEnd)+1)
		before := len(w.out)
		if len(pieces) > 0 {
			w.out = append(w.out, ',')
		}
		start := len(w.out)
		w.out = AppendString(w.out, key)
		if !utf8.ValidString(key) { // two invalid keys may decode to the same one
			key = Unquote(w.out[start:])
		}
		w.out = append(w.out, ':')
		at = w.value(text, at, "")
		if without != "" && key == without {
			w.out = w.out[:before]
			continue
		}
		p := piece{index: arrayIndex(key), start: start, end: len(w.out)}
		if place, twice := places[key]; twice {
			pieces[place], ordered = p, false
			continue
		}
		ordered = ordered && p.index < 0
		places[key] = len(pieces)
		pieces = append(pieces, p)
	}
	if !ordered {
		w.reorder(from, pieces)
	}
	w.out = append(w.out, '}')
	return at + 1
}

// reorder rewrites the output after from as the given pieces, array indexes
// first.
func (w *writer) reorder(from int, pieces []piece) {
	slices.SortStableFunc(pieces, func(a, b piece) int {
		switch {
		case a.index >= 0 && b.index >= 0:
			return int(a.index - b.index)
		case a.index >= 0:
			return -1
		case b.index >= 0:
			return 1
		}
		return 0
	})
	var text []byte
	for i, p := range pieces {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, w.out[p.start:p.end]...)
	}
	w.out = append(w.out[:from], text...)
}

// arrayIndex returns the value of a key that is an ECMAScript array index ("0" to "4294967294"
// without leading zeros), or -1.
func arrayIndex(key string) int64 {
	if key == "" || len(key) > 10 || (key[0] == '0' && len(key) > 1) {
		return -1
	}
	var n int64
	for i := range len(key) {
		if key[i] < '0' || key[i] > '9' {
			return -1
		}
		n = n*10 + int64(key[i]-'0')
	}
	if n > math.MaxUint32-1 {
		return -1
	}
	return n
}

const hexDigits = "0123456789abcdef"

// AppendString appends a JSON string in canonical form. Invalid UTF-8 becomes
// U+FFFD. Surrogates that Unquote kept (three bytes, ED A0..BF) are written as
// \udxxx, and a pair of them as the one character it encodes.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || size > 1 {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		if unit, ok := surrogateAt(s, i); ok {
			if low, ok := surrogateAt(s, i+3); ok {
				if pair := utf16.DecodeRune(rune(unit), rune(low)); pair != utf8.RuneError {
					dst = utf8.AppendRune(dst, pair)
					i += 6
					start = i
					continue
				}
			}
			dst = append(dst, '\\', 'u', 'd', hexDigits[unit>>8&15], hexDigits[unit>>4&15], hexDigits[unit&15])
			i += 3
		} else {
			dst = append(dst, "\uFFFD"...)
			i++
		}
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

func surrogateAt(s string, i int) (uint16, bool) {
	if i+2 >= len(s) || s[i] != 0xED || s[i+1] < 0xA0 || s[i+1] > 0xBF || s[i+2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | uint16(s[i+1]&0x3F)<<6 | uint16(s[i+2]&0x3F), true
}

// AppendNumber appends a finite number as ECMAScript prints it: the shortest
// text that reads back as the same double.
func AppendNumber(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0')
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return append(dst, "null"...)
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// strconv pads the exponent to two digits; ECMAScript does not.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// Unquote decodes a JSON string literal that was scanned before. It keeps lone
// surrogates in their three-byte form, so that AppendString can write them
// again, and leaves other invalid bytes as they are.
func Unquote(literal []byte) string {
	body := literal[1 : len(literal)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return string(body)
	}
	return string(AppendUnquoted(make([]byte, 0, len(body)), literal))
}

// AppendUnquoted is Unquote into the caller's buffer. It copies eight bytes at a time and then
// finds the first escape among them. Where escapes are dense, as in JSON within JSON, a
// function call for each would cost more than copying the text.
func AppendUnquoted(dst, literal []byte) []byte {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	body := literal[1 : len(literal)-1]
	dst = slices.Grow(dst, len(body)) // no escape is shorter than its decoded form
	n, room := len(dst), dst[:len(dst)+len(body)]
	for len(body) > 0 {
		if len(body) >= 8 && n+8 <= len(room) {
			w := binary.LittleEndian.Uint64(body)
			binary.LittleEndian.PutUint64(room[n:], w)
			w ^= ones * '\\'
			found := (w - ones) &^ w & highs
			if found == 0 {
				n, body = n+8, body[8:]
				continue
			}
			plain := bits.TrailingZeros64(found) / 8 // a borrow can only set bits above the first match
			n, body = n+plain, body[plain:]
		}
		if body[0] != '\\' {
			room[n] = body[0]
			n, body = n+1, body[1:]
			continue
		}
		c := body[1]
		body = body[2:]
		if c == 'u' {
			var unit []byte
			unit, body = appendUnit(room[:n], body)
			n = len(unit)
			continue
		}
		if stands := unescaped[c]; stands != 0 {
			c = stands
		}
		room[n] = c
		n++
	}
	return room[:n]
}

// unescaped maps the letter of an escape to its character; 0 means the letter itself.
var unescaped = [256]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendUnit decodes a UTF-16 code unit from the first four hex digits of body. If the unit is
// the first half of a pair, it also decodes the second. It appends the character and returns
// the rest of body.
func appendUnit(dst, body []byte) ([]byte, []byte) {
	unit := hex4(body)
	body = body[4:]
	if !utf16.IsSurrogate(rune(unit)) {
		return utf8.AppendRune(dst, rune(unit)), body
	}
	if len(body) >= 6 && body[0] == '\\' && body[1] == 'u' {
		if r := utf16.DecodeRune(rune(unit), rune(hex4(body[2:]))); r != utf8.RuneError {
			return utf8.AppendRune(dst, r), body[6:]
		}
	}
	return append(dst, 0xED, 0x80|byte(unit>>6&0x3F), 0x80|byte(unit&0x3F)), body
}

func hex4(text []byte) uint16 {
	var n uint16
	for _, c := range text[:4] {
		n <<= 4
		switch {
		case c <= '9':
			n |= uint16(c - '0')
		case c <= 'F':
			n |= uint16(c-'A') + 10
		default:
			n |= uint16(c-'a') + 10
		}
	}
	return n
}
