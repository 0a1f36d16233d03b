package redact

// The encodings in which a known value occurs: in headers, in dumps, in URLs.

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
)

// leastEncoded is the length of the shortest value that is also masked in other encodings.
const leastEncoded = 8

// encodings returns the forms of a value in base64, in hex, in URLs, and in upper case. Within
// a longer base64 text the value can begin at any of three offsets in a group. For each offset
// the form has only the characters that depend on nothing but the value.
func encodings(value string) (forms []string) {
	if len(value) < leastEncoded {
		return nil
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := encoding.EncodeToString([]byte(strings.Repeat("x", before) + value))
			from := []int{0, 2, 3}[before]
			to := len(text)
			if (before+len(value))%3 != 0 {
				to-- // it also has bits of what follows
			}
			forms = append(forms, text[from:to])
		}
	}
	inHex := hex.EncodeToString([]byte(value))
	return append(forms, inHex, strings.ToUpper(inHex), url.QueryEscape(value), url.PathEscape(value), strings.ToUpper(value))
}
