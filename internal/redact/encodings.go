package redact

// The encodings in which a known value turns up: in headers, in dumps, in addresses.

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
)

// leastEncoded is the shortest value that is looked for in other encodings.
const leastEncoded = 8

// encodings returns the forms of a value in base64, hex and addresses, and in capitals.
// Within a longer text in base64 a value begins at one of three places of a group: of
// each, the characters that are made of the value alone.
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
				to-- // it also holds bits of what follows
			}
			forms = append(forms, text[from:to])
		}
	}
	inHex := hex.EncodeToString([]byte(value))
	return append(forms, inHex, strings.ToUpper(inHex), url.QueryEscape(value), url.PathEscape(value), strings.ToUpper(value))
}
