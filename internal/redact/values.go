package redact

// Masking known values: the secrets of an environment, in texts and in streams.

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
)

// Mask replaces a secret.
const Mask = "[REDACTED]"

// SecretName reports whether a variable of this name has a secret value: because of a word in
// the name, or of its last part after an underscore. Each process of a session checks its whole
// environment, for which a regular expression would take 36 KB.
func SecretName(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "\u017f", "s") // the long s counts as an s
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

// minSecret is the length of the shortest value that is masked. Shorter ones occur by chance.
const minSecret = 4

// Values masks a set of secrets. It is safe for concurrent use.
type Values struct{ known atomic.Pointer[[][]byte] } // longest first

// secrets returns the secrets that are known now.
func (v *Values) secrets() [][]byte {
	if known := v.known.Load(); known != nil {
		return *known
	}
	return nil
}

// Learn adds a value, and its forms, to what is masked from now on. It ignores a value that is
// shorter than four bytes.
func (v *Values) Learn(value string) {
	if len(value) < minSecret {
		return
	}
	more := append([]string{value}, jsonForms(value)...)
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

// with appends a secret unless it is already present.
func with(secrets [][]byte, secret []byte) [][]byte {
	if slices.ContainsFunc(secrets, func(s []byte) bool { return bytes.Equal(s, secret) }) {
		return secrets
	}
	return append(secrets, secret)
}

// FromEnviron returns the secrets of an environment: the values of variables with secret names.
// It also masks them as JSON writes them and, from 8 bytes on, in base64, in hex, escaped for a
// URL, and in upper case.
func FromEnviron(environ []string) *Values {
	v, all := &Values{}, [][]byte{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if len(value) < minSecret || !SecretName(name) {
			continue
		}
		all = with(all, []byte(value))
		for _, form := range jsonForms(value) {
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

// Stream returns the state for masking one stream of bytes. The stream holds back the possible
// beginning of a secret at the end of a piece until the next piece.
func (v *Values) Stream() *Stream { return &Stream{values: v} }

// Stream is the state of one masked stream. It is not safe for concurrent use.
type Stream struct {
	values *Values
	held   []byte
	found  bool
}

// Found reports whether anything was masked.
func (s *Stream) Found() bool { return s.found }

// Next returns the output for one more piece of the stream. The result may share memory with
// the piece.
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
	f, from, keep := s.values.newFinder(text), 0, s.values.partialSecretLen(text)
	for {
		at, length := f.find(from)
		if at < 0 || at >= len(text)-keep { // what is held back may be a longer secret
			break
		}
		s.found = true
		out = append(append(out, text[from:at]...), Mask...)
		if from = at + length; keep > len(text)-from {
			keep = s.values.partialSecretLen(text[from:])
		}
	}
	s.held = bytes.Clone(text[len(text)-keep:])
	if out == nil {
		return text[:len(text)-keep]
	}
	return append(out, text[from:len(text)-keep]...)
}

// Flush returns what is still held back, masked, at the end of the stream.
func (s *Stream) Flush() []byte {
	rest := s.values.mask(s.held)
	s.found = s.found || !bytes.Equal(rest, s.held)
	s.held = nil
	return rest
}

// mask masks a whole text.
func (v *Values) mask(text []byte) []byte {
	var out []byte
	f, from := v.newFinder(text), 0
	for {
		at, length := f.find(from)
		if at < 0 {
			return append(out, text[from:]...)
		}
		out = append(append(out, text[from:at]...), Mask...)
		from = at + length
	}
}

// finder finds the secrets of a text from its beginning to its end. It searches for each secret
// again only when the last match is passed, so that the run time is linear in the length of the
// text.
type finder struct {
	secrets [][]byte
	text    []byte
	next    []int // the next match of each secret, or -1
}

func (v *Values) newFinder(text []byte) finder {
	secrets := v.secrets()
	f := finder{secrets, text, make([]int, len(secrets))}
	for i, secret := range secrets {
		f.next[i] = bytes.Index(text, secret)
	}
	return f
}

// find returns the first secret at or after from, the longest if several begin there, or -1.
// from must not decrease between calls.
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

// partialSecretLen returns how many bytes at the end of a text could be the beginning of a secret.
func (v *Values) partialSecretLen(text []byte) (keep int) {
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

// Masked reports whether a text contains a mark, so that it is not the original text.
func Masked(text string) bool { return marks(text) > 0 }
