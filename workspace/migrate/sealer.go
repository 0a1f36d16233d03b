package migrate

// Converting the text of a log to sealed envelopes.

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"ac/events"
	"ac/internal/canonjson"
)

// sealer converts one log.
type sealer struct {
	run        string
	force      bool
	checkpoint *events.Checkpoint // from the run's record, nil for none

	prev       string // hash of the last sealed event, "" for none
	was        string // its hash before the migration
	rewritten  int    // the number of changed events
	unreadable int
	resealed   bool // an event got a new hash in place of an old one
	reshaped   bool // blank lines were dropped, or the last line got its LF
	refused    bool // a seal does not match, and force is off

	headBefore, headAfter string // at the checkpoint
}

// read converts a log and writes the new text to out, unless out is nil. It stops at the
// first seal that does not match, unless force is set.
func (s *sealer) read(in io.Reader, out io.Writer) error {
	if out == nil {
		out = io.Discard
	}
	text := bufio.NewWriterSize(out, 256<<10)
	scanner := events.NewScanner(in, 0, 0)
	end := int64(0)
	for {
		line, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return text.Flush()
		}
		if err != nil {
			return err
		}
		s.reshaped = s.reshaped || line.Torn || line.Offset != end
		end = line.Next
		if line.Long {
			s.refused = true // too long to be read or rewritten as a whole
		}
		fresh, ok := s.line(line)
		if s.refused || !ok {
			return nil
		}
		if _, err := text.Write(append(fresh, '\n')); err != nil {
			return err
		}
		if s.checkpoint != nil && line.Seq == s.checkpoint.Count {
			s.headBefore, s.headAfter = s.was, s.prev
		}
	}
}

// line returns the new text of a line. ok is false if the log must stay unchanged.
func (s *sealer) line(line events.Line) (fresh []byte, ok bool) {
	e, err := parse(line.Raw)
	if err != nil {
		s.unreadable++
		return bytes.Clone(line.Raw), true
	}
	old := e.text("event_hash")
	if sealed := e.get("event_hash"); sealed != nil && string(sealed) != "null" && string(sealed) != `""` {
		if !s.force && !e.fits(old) {
			s.refused = true
			return nil, false
		}
	}
	s.complete(e, line.Seq)
	e.set("prev_event_hash", orNull(s.prev))
	fresh, hash := e.seal()
	if !bytes.Equal(fresh, line.Raw) {
		s.rewritten++
	}
	s.resealed = s.resealed || (old != "" && old != hash)
	if old != "" {
		s.was = old
	}
	s.prev = hash
	return fresh, true
}

// complete adds the missing fields of the current envelope format.
func (s *sealer) complete(e *envelope, seq int64) {
	number := []byte(strconv.FormatInt(seq, 10))
	if n, ok := e.number("schema_version"); !ok || n <= 0 || n != math.Trunc(n) {
		e.set("schema_version", []byte("1"))
	}
	local := "local_" + s.run
	for _, due := range []struct{ key, value string }{
		{"run_id", s.run}, {"session_ref", local}, {"event_id", "evt_migrated_" + s.run + "_" + string(number)},
	} {
		if strings.TrimSpace(e.text(due.key)) == "" {
			e.set(due.key, quoted(due.value))
		}
	}
	if e.get("correlation_id") == nil {
		e.set("correlation_id", e.get("session_ref"))
	}
	if e.get("causation_id") == nil {
		e.set("causation_id", []byte("null"))
	}
	if _, ok := e.number("ts_monotonic_ms"); !ok {
		e.set("ts_monotonic_ms", number)
	}
}

// envelope holds the members of one event, in order.
type envelope struct {
	raw     []byte
	members []member
}

type member struct {
	key   string
	value []byte
}

// parse parses a line that is one JSON object.
func parse(raw []byte) (*envelope, error) {
	e := &envelope{raw: raw}
	err := canonjson.Members(raw, func(m canonjson.Member) { e.set(string(m.Key), m.Value) })
	return e, err
}

func (e *envelope) index(key string) int {
	return slices.IndexFunc(e.members, func(m member) bool { return m.key == key })
}

func (e *envelope) get(key string) []byte {
	if i := e.index(key); i >= 0 {
		return e.members[i].value
	}
	return nil
}

func (e *envelope) set(key string, value []byte) {
	if i := e.index(key); i >= 0 {
		e.members[i].value = value
		return
	}
	e.members = append(e.members, member{key, value})
}

// text returns the value of a string member, "" for any other member.
func (e *envelope) text(key string) string {
	if value := e.get(key); len(value) > 1 && value[0] == '"' {
		return canonjson.Unquote(value)
	}
	return ""
}

// number returns the value of a member that is a finite number.
func (e *envelope) number(key string) (float64, bool) {
	n, err := strconv.ParseFloat(string(e.get(key)), 64)
	return n, err == nil && !math.IsInf(n, 0) && !math.IsNaN(n)
}

// fits reports whether hash is the correct hash of the original line.
func (e *envelope) fits(hash string) bool {
	text, err := canonjson.CanonicalWithout(nil, e.raw, "event_hash")
	return err == nil && digest(text) == hash
}

// seal returns the canonical text of the members with their hash, and the hash. It cannot
// fail, since the members were parsed or created here.
func (e *envelope) seal() (text []byte, hash string) {
	e.set("event_hash", []byte("null"))
	members := e.join()
	text, _ = canonjson.CanonicalWithout(make([]byte, 0, len(members)+128), members, "event_hash")
	hash = digest(text)
	e.set("event_hash", quoted(hash))
	if last := len(e.members) - 1; last > 0 && e.members[last].key == "event_hash" {
		// In canonical order nothing follows event_hash.
		return append(append(append(text[:len(text)-1], `,"event_hash":`...), e.members[last].value...), '}'), hash
	}
	text, _ = canonjson.Canonical(text[:0], e.join())
	return text, hash
}

func (e *envelope) join() []byte {
	text := append(make([]byte, 0, len(e.raw)+512), '{')
	for i, m := range e.members {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(canonjson.AppendString(text, m.key), ':')
		text = append(text, m.value...)
	}
	return append(text, '}')
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func quoted(text string) []byte { return canonjson.AppendString(nil, text) }

func orNull(hash string) []byte {
	if hash == "" {
		return []byte("null")
	}
	return quoted(hash)
}
