package redact

// Masking known values: the secrets of an environment, in texts and in streams.

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
)

// Mask stands in the place of a secret.
const Mask = "[REDACTED]"

// SecretName reports whether the value of a variable of this name is secret: a word in it says
// so, or its last part behind an underscore. Each process of a session asks it of its whole
// environment, which a regular expression would take 36 KB for.
func SecretName(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "\u017f", "s") // the long s is no other letter
	for _, word := range []string{"key", "token", "secret", "passw", "passphrase", "credential", "auth"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	for _, part := range []string{"_pwd", "_pat", "_creds", "_dsn", "_cookie"} {
		if before, ends := strings.CutSuffix(name, part); ends && before != "" && !strings.HasSuffix(before, "\n") {
			return true
		}
	}
	return false
}

// minSecret is the shortest value that is masked: shorter ones occur by chance.
const minSecret = 4

// Values masks a set of secrets. It is safe for concurrent use.
type Values struct{ known atomic.Pointer[[][]byte] } // the longest first

// secrets are those that are known now.
func (v *Values) secrets() [][]byte {
	if known := v.known.Load(); known != nil {
		return *known
	}
	return nil
}

// Learn masks a value, too, and its forms, from now on. One that is shorter than four
// bytes is not masked.
func (v *Values) Learn(value string) {
	if len(value) < minSecret {
		return
	}
	more := append([]string{value}, written(value)...)
	more = append(more, encodings(value)...)
	for {
		before := v.known.Load()
		after := slices.Clone(v.secrets())
		for _, form := range more {
			after = with(after, []byte(form))
		}
		slices.SortStableFunc(after, func(a, b []byte) int { return len(b) - len(a) })
		if v.known.CompareAndSwap(before, &after) {
			return
		}
	}
}

// with adds a secret that is not among them.
func with(secrets [][]byte, secret []byte) [][]byte {
	if slices.ContainsFunc(secrets, func(s []byte) bool { return bytes.Equal(s, secret) }) {
		return secrets
	}
	return append(secrets, secret)
}

// FromEnviron takes the secrets of an environment: the values of variables with
// secret-looking names, also in the forms in which JSON writes them and, from 8 bytes
// on, in base64, in hex, escaped for an address, and in capitals.
func FromEnviron(environ []string) *Values {
	v, all := &Values{}, [][]byte{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if len(value) < minSecret || !SecretName(name) {
			continue
		}
		all = with(all, []byte(value))
		for _, form := range written(value) {
			all = with(all, []byte(form))
		}
		for _, form := range encodings(value) {
			all = with(all, []byte(form))
		}
	}
	slices.SortFunc(all, func(a, b []byte) int { return len(b) - len(a) })
	v.known.Store(&all)
	return v
}

// String masks a whole text.
func (v *Values) String(text string) string {
	if len(v.secrets()) == 0 {
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
	found  bool
}

// Found tells whether anything was masked.
func (s *Stream) Found() bool { return s.found }

// Next returns what can be written of the stream after one more piece. The result
// may share memory with the piece.
func (s *Stream) Next(piece []byte) []byte {
	if len(s.values.secrets()) == 0 {
		return piece
	}
	text := piece
	if len(s.held) > 0 {
		text = slices.Concat(s.held, piece)
		s.held = nil
	}
	var out []byte
	f, from, keep := s.values.in(text), 0, s.values.beginning(text)
	for {
		at, length := f.find(from)
		if at < 0 || at >= len(text)-keep { // what is held back may be a longer one
			break
		}
		s.found = true
		out = append(append(out, text[from:at]...), Mask...)
		if from = at + length; keep > len(text)-from {
			keep = s.values.beginning(text[from:])
		}
	}
	s.held = bytes.Clone(text[len(text)-keep:])
	if out == nil {
		return text[:len(text)-keep]
	}
	return append(out, text[from:len(text)-keep]...)
}

// Rest returns what was held back when the stream has ended.
func (s *Stream) Rest() []byte {
	rest := s.values.mask(s.held)
	s.found = s.found || !bytes.Equal(rest, s.held)
	s.held = nil
	return rest
}

// mask masks a whole text.
func (v *Values) mask(text []byte) []byte {
	var out []byte
	f, from := v.in(text), 0
	for {
		at, length := f.find(from)
		if at < 0 {
			return append(out, text[from:]...)
		}
		out = append(append(out, text[from:at]...), Mask...)
		from = at + length
	}
}

// finder finds the secrets of a text from its beginning to its end. Each secret is
// looked for again only where its last place was passed, so that the work grows
// linearly with the text.
type finder struct {
	secrets [][]byte
	text    []byte
	next    []int // where each secret stands next; -1 for nowhere
}

func (v *Values) in(text []byte) finder {
	secrets := v.secrets()
	f := finder{secrets, text, make([]int, len(secrets))}
	for i, secret := range secrets {
		f.next[i] = bytes.Index(text, secret)
	}
	return f
}

// find returns the first secret at or behind a place, which does not go back; the
// longest where several begin there, -1 where none does.
func (f finder) find(from int) (at, length int) {
	at = -1
	for i, secret := range f.secrets {
		if f.next[i] >= 0 && f.next[i] < from {
			if f.next[i] = bytes.Index(f.text[from:], secret); f.next[i] >= 0 {
				f.next[i] += from
			}
		}
		if f.next[i] >= 0 && (at < 0 || f.next[i] < at) {
			at, length = f.next[i], len(secret)
		}
	}
	return at, length
}

// beginning is how many bytes at the end of a text could be the beginning of a
// secret.
func (v *Values) beginning(text []byte) (keep int) {
	for _, secret := range v.secrets() {
		for n := min(len(secret)-1, len(text)); n > keep; n-- {
			if bytes.HasSuffix(text, secret[:n]) {
				keep = n
				break
			}
		}
	}
	return keep
}

// Masked reports whether a text has a mark, so that it is not what it was.
func Masked(text string) bool { return marks(text) > 0 }
