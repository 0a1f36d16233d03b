// Package events is the append-only event log of a run. It contains one JSON object per line.
// Each line is sealed by a hash over its text and the hash of the previous line (a hash chain).
//
// Layout: work/projects/<project>/runs/<run>/events.jsonl, UTF-8, LF. A line is the canonical
// text (package canonjson) of the envelope, with the member event_hash appended. The hash is the
// SHA-256 of that text without event_hash.
//
// Invariants:
//   - An append holds the log's kernel lock, reads the real tail, and writes
//     whole lines in one write. So the chain never forks, whatever other
//     processes append.
//   - What Append has acknowledged is durable.
//   - Appends never truncate a log, except to undo an unfinished line of their
//     own. If a log does not end in LF, the next append adds one, so that a
//     torn line costs only itself.
package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"ac/internal/canonjson"
	"ac/internal/clock"
)

// FileName is the base name of a run's log.
const FileName = "events.jsonl"

// SchemaVersion is the version of the envelopes that this package writes.
const SchemaVersion = 1

// Visibilities of an event.
const (
	VisibilityPrivate  = "private_agent"
	VisibilityTeam     = "team"
	VisibilityManagers = "managers"
	VisibilityOrg      = "org"
)

// ActorSystem is the actor of events that no person or agent caused.
const ActorSystem = "system"

// Draft is an event before it is sealed. Payload is canonical JSON. The caller generates the ID,
// so that recovery can tell an interrupted write from a missing one.
type Draft struct {
	ID          string
	At          time.Time
	MonotonicMS int64
	RunID       string
	SessionRef  string
	Actor       string
	Visibility  string
	Type        string
	Payload     []byte
	Correlation string // defaults to SessionRef
	Causation   string // empty for none
}

// Source creates drafts with a clock and an id generator.
type Source struct {
	Clock *clock.Clock
	NewID func(prefix string) string
}

// Draft fills in id, times and payload. The payload is any value that encodes to JSON.
func (s Source) Draft(draft Draft, payload any) (Draft, error) {
	text, err := canonjson.Marshal(payload)
	if err != nil {
		return draft, fmt.Errorf("payload of %s: %w", draft.Type, err)
	}
	draft.Payload = text
	return s.Raw(draft), nil
}

// Raw is Draft for a payload that is already canonical JSON.
func (s Source) Raw(draft Draft) Draft {
	draft.ID = s.NewID("evt")
	if draft.At.IsZero() {
		draft.At = s.Clock.Now()
	}
	draft.MonotonicMS = s.Clock.MonotonicMS()
	return draft
}

// seal appends the line of a draft to dst, including the LF, and returns its hash. prev is the
// hash of the previous line, empty for the first one.
func (d *Draft) seal(dst []byte, prev string) ([]byte, string) {
	start := len(dst)
	dst = append(dst, `{"schema_version":`...)
	dst = strconv.AppendInt(dst, SchemaVersion, 10)
	dst = appendMember(dst, "ts_wallclock", clock.Stamp(d.At))
	dst = appendMember(dst, "run_id", d.RunID)
	dst = appendMember(dst, "session_ref", d.SessionRef)
	dst = appendMember(dst, "actor", d.Actor)
	dst = appendMember(dst, "visibility", d.Visibility)
	dst = appendMember(dst, "type", d.Type)
	dst = append(append(dst, `,"payload":`...), d.Payload...)
	dst = appendMember(dst, "event_id", d.ID)
	correlation := d.Correlation
	if correlation == "" {
		correlation = d.SessionRef
	}
	dst = appendMember(dst, "correlation_id", correlation)
	dst = appendNullable(dst, "causation_id", d.Causation)
	dst = append(dst, `,"ts_monotonic_ms":`...)
	dst = strconv.AppendInt(dst, d.MonotonicMS, 10)
	dst = appendNullable(dst, "prev_event_hash", prev)
	dst = append(dst, '}')
	hash := hashOf(dst[start:])
	dst = append(dst[:len(dst)-1], hashMember...)
	dst = append(dst, hash...)
	return append(dst, '"', '}', '\n'), hash
}

// hashMember separates the canonical text from the hash.
const hashMember = `,"event_hash":"`

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func appendMember(dst []byte, key, value string) []byte {
	dst = append(append(append(dst, `,"`...), key...), `":`...)
	return canonjson.AppendString(dst, value)
}

func appendNullable(dst []byte, key, value string) []byte {
	if value != "" {
		return appendMember(dst, key, value)
	}
	return append(append(append(dst, `,"`...), key...), `":null`...)
}

// Encode seals drafts as a complete log, for a run that does not exist yet.
func Encode(drafts ...Draft) []byte {
	var log []byte
	head := ""
	for i := range drafts {
		log, head = drafts[i].seal(log, head)
	}
	return log
}
