// Package ulid makes the ids of ac: a prefix, an underscore and a ULID of 26
// Crockford characters. The ids of one Source sort in creation order, even
// within a millisecond and if the wall clock goes back.
package ulid

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Source generates IDs. It is safe for concurrent use.
type Source struct {
	mu      sync.Mutex
	now     func() time.Time
	entropy *ulid.MonotonicEntropy
	random  io.Reader
	last    uint64
}

// NewSource returns a source that uses a clock and the system's randomness.
func NewSource(now func() time.Time) *Source { return NewSourceFrom(now, rand.Reader) }

// NewSourceFrom is NewSource with the randomness passed in, for tests that need reproducible
// IDs.
func NewSourceFrom(now func() time.Time, random io.Reader) *Source {
	return &Source{now: now, random: random, entropy: ulid.Monotonic(random, 0)}
}

// New returns a new ID with the given prefix, such as run_01M7WQGTR95SV6EDMA61E1XR8M.
func (s *Source) New(prefix string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := max(ulid.Timestamp(s.now()), s.last)
	id, err := ulid.New(ms, s.entropy)
	if err != nil {
		// The random part of this millisecond is exhausted; the next one is
		// free.
		ms++
		id = ulid.MustNew(ms, s.entropy)
	}
	s.last = ms
	return prefix + "_" + id.String()
}

// Hex returns n random bytes in hexadecimal, for unguessable names.
func (s *Source) Hex(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw := make([]byte, n)
	if _, err := io.ReadFull(s.random, raw); err != nil {
		panic(fmt.Sprintf("ulid: the system's randomness failed: %v", err))
	}
	return hex.EncodeToString(raw)
}

// UUID returns the ULID in an ID that New made, as a UUID in lower case. ok is false for an ID
// without a ULID.
func UUID(id string) (text string, ok bool) {
	_, name, found := strings.Cut(id, "_")
	raw, err := ulid.ParseStrict(name)
	if !found || err != nil || raw.String() != name {
		return "", false
	}
	h := hex.EncodeToString(raw[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-"), true
}

// OfUUID is the inverse of UUID: it returns the ID with a prefix. ok is false for any other
// text.
func OfUUID(prefix, text string) (id string, ok bool) {
	var raw ulid.ULID
	plain, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(plain) != len(raw) {
		return "", false
	}
	copy(raw[:], plain)
	id = prefix + "_" + raw.String()
	again, ok := UUID(id)
	return id, ok && again == text
}
