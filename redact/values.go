// Package redact keeps secrets out of what is written down. This part masks the
// exact values of secrets that are known, in a stream of bytes whatever its
// pieces are.
package redact

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"ac/internal/canonjson"
)

// Mask stands in the place of a secret.
const Mask = "[REDACTED]"

// secretName matches names of variables whose values are secret.
var secretName = regexp.MustCompile(`(?i)(key|token|secret|passw|credential|auth)`)

// SecretName reports whether the value of a variable of this name is secret.
func SecretName(name string) bool { return secretName.MatchString(name) }

// minSecret is the shortest value that is masked: shorter ones occur by chance.
const minSecret = 4

// Values masks a set of secrets. It is immutable and safe for concurrent use.
type Values struct{ secrets [][]byte } // the longest first

// FromEnviron takes the secrets of an environment: the values of variables with
// secret-looking names, also in the form in which JSON writes them.
func FromEnviron(environ []string) *Values {
	v := &Values{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if len(value) < minSecret || !SecretName(name) {
			continue
		}
		v.add([]byte(value))
		if quoted, err := json.Marshal(value); err == nil {
			v.add(quoted[1 : len(quoted)-1])
		}
		for range 2 { // JSON, and JSON in a text of JSON, as we write it
			quoted := canonjson.AppendString(nil, value)
			value = string(quoted[1 : len(quoted)-1])
			v.add([]byte(value))
		}
	}
	slices.SortFunc(v.secrets, func(a, b []byte) int { return len(b) - len(a) })
	return v
}

func (v *Values) add(secret []byte) {
	if !slices.ContainsFunc(v.secrets, func(s []byte) bool { return bytes.Equal(s, secret) }) {
		v.secrets = append(v.secrets, secret)
	}
}

// String masks a whole text.
func (v *Values) String(text string) string {
	if len(v.secrets) == 0 {
		return text
	}
	return string(v.mask([]byte(text)))
}

// Stream masks one stream of bytes. A beginning of a secret at the end of a
// piece is held back until the next piece tells.
func (v *Values) Stream() *Stream { return &Stream{values: v} }

// Stream is the state of one masked stream. It is for one goroutine.
type Stream struct {
	values *Values
	held   []byte
}

// Next gives what can be written of the stream after one more piece. The result
// may share memory with the piece.
func (s *Stream) Next(piece []byte) []byte {
	if len(s.values.secrets) == 0 {
		return piece
	}
	text := piece
	if len(s.held) > 0 {
		text = append(s.held, piece...)
		s.held = nil
	}
	var out []byte
	keep := s.values.beginning(text)
	for {
		at, length := s.values.find(text)
		if at < 0 || at >= len(text)-keep { // what is held back may be a longer one
			break
		}
		out = append(append(out, text[:at]...), Mask...)
		text = text[at+length:]
		keep = s.values.beginning(text)
	}
	s.held = bytes.Clone(text[len(text)-keep:])
	if out == nil {
		return text[:len(text)-keep]
	}
	return append(out, text[:len(text)-keep]...)
}

// Rest gives what was held back when the stream has ended.
func (s *Stream) Rest() []byte {
	rest := s.held
	s.held = nil
	return s.values.mask(rest)
}

// mask masks a whole text. Each secret is looked for again only where its last
// place was passed, so that the work grows linearly with the text.
func (v *Values) mask(text []byte) []byte {
	var out []byte
	next := make([]int, len(v.secrets)) // where each secret stands next; -1 for nowhere
	for i, secret := range v.secrets {
		next[i] = bytes.Index(text, secret)
	}
	for at := 0; ; {
		first := -1
		for i, secret := range v.secrets {
			if next[i] >= 0 && next[i] < at {
				if next[i] = bytes.Index(text[at:], secret); next[i] >= 0 {
					next[i] += at
				}
			}
			if next[i] >= 0 && (first < 0 || next[i] < next[first]) {
				first = i
			}
		}
		if first < 0 {
			return append(out, text[at:]...)
		}
		out = append(append(out, text[at:next[first]]...), Mask...)
		at = next[first] + len(v.secrets[first])
	}
}

// find gives the first secret in a text, the longest where several begin there.
func (v *Values) find(text []byte) (at, length int) {
	at = -1
	for _, secret := range v.secrets {
		if i := bytes.Index(text, secret); i >= 0 && (at < 0 || i < at) {
			at, length = i, len(secret)
		}
	}
	return at, length
}

// beginning is how many bytes at the end of a text could be the beginning of a
// secret.
func (v *Values) beginning(text []byte) (keep int) {
	for _, secret := range v.secrets {
		for n := min(len(secret)-1, len(text)); n > keep; n-- {
			if bytes.HasSuffix(text, secret[:n]) {
				keep = n
				break
			}
		}
	}
	return keep
}
