package events

// Verification of a log: the shape of each event, and the hash chain.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"ac/internal/canonjson"
)

// Codes of record issues: contradictions between a log and the record of its
// run.
const (
	ShorterThanRecord = "log_shorter_than_record"
	DiffersFromRecord = "log_differs_from_record"
	LogTampered       = "log_tampered"
	EventsLeftOut     = "events_left_out"
)

// ParseIssue reports a line that is not JSON. Seq counts non-blank lines.
type ParseIssue struct {
	Seq   int64  `json:"seq"`
	Error string `json:"error"`
	Raw   string `json:"raw"`
}

// VerifyIssue reports a fault of an event or of the chain. Seq counts parsed events.
type VerifyIssue struct {
	Seq     int64  `json:"seq"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Keys returns the members of an envelope, in the order in which they are written.
func Keys() []string {
	return []string{
		"schema_version", "ts_wallclock", "run_id", "session_ref", "actor", "visibility", "type", "payload",
		"event_id", "correlation_id", "causation_id", "ts_monotonic_ms", "prev_event_hash", "event_hash",
	}
}

// Verifier checks events in order. The zero value is ready to use.
type Verifier struct {
	// LeftOut are the events missing from this copy of a log, in order. The chain continues over
	// their hashes.
	LeftOut []Gap

	seq      int64
	expected string // hash of the previous event, "" if it had none
	keys     []string
	scratch  []byte
}

// Gap is a position in a copy of a log where events were left out.
type Gap struct {
	After       int64    `json:"after"` // number of events in the copy before the gap
	EventHashes []string `json:"event_hashes"`
}

// skip advances past the gaps before the next event, and reports whether there were any.
func (v *Verifier) skip() (over bool) {
	for len(v.LeftOut) > 0 && v.LeftOut[0].After < v.seq {
		if hashes := v.LeftOut[0].EventHashes; len(hashes) > 0 {
			v.expected, over = hashes[len(hashes)-1], true
		}
		v.LeftOut = v.LeftOut[1:]
	}
	return over
}

// Event checks the next line and returns its issues. hash is its event_hash, "" if it has none.
// For a line that is not JSON, it returns an error and does not count the line.
func (v *Verifier) Event(raw []byte) (issues []VerifyIssue, hash string, err error) {
	if v.keys == nil {
		v.keys = Keys()
	}
	var found [14][]byte
	due := 0
	last := canonjson.Member{}
	err = canonjson.Members(raw, func(m canonjson.Member) {
		// Members mostly appear in the order of Keys.
		if due < len(v.keys) && string(m.Key) == v.keys[due] {
			found[due] = m.Value
			due++
		} else if i := slices.Index(v.keys, string(m.Key)); i >= 0 {
			found[i] = m.Value
		}
		last = m
	})
	if err != nil && !errors.Is(err, canonjson.ErrNoObject) {
		return nil, "", err
	}
	v.seq++
	first := !v.skip() && v.seq == 1
	report := func(code, format string, args ...any) {
		issues = append(issues, VerifyIssue{Seq: v.seq, Code: code, Message: fmt.Sprintf(format, args...)})
	}
	if err != nil {
		report("invalid_shape", "not a JSON object")
		return issues, "", nil //nolint:nilerr // reported as an issue
	}
	for i, key := range v.keys {
		if found[i] == nil {
			report("missing_key", "%s is missing", key)
		}
	}
	if !isVersion(found[0]) {
		report("invalid_schema_version", "schema_version is not an integer above 0")
	}
	prev, prevIsNull := stringOf(found[12]), string(found[12]) == "null"
	if prev == nil && !prevIsNull {
		report("invalid_prev_hash_type", "prev_event_hash is neither text nor null")
	}
	written := stringOf(found[13])
	if written == nil || *written == "" {
		report("invalid_event_hash", "event_hash is not a text")
		hash = ""
	} else if hash = *written; !v.matches(raw, last, hash) {
		report("event_hash_mismatch", "the content does not have the hash %s", hash)
	}
	switch {
	case first && prev != nil:
		report("first_prev_hash_non_null", "the first event names an event before it")
	case !first && (prev == nil) != (v.expected == "") || !first && prev != nil && *prev != v.expected:
		report("prev_hash_chain_mismatch", "prev_event_hash is not the hash of the event before")
	}
	v.expected = hash
	return issues, hash, nil
}

// matches recomputes the hash. It first tries the raw text without its last member, which
// suffices for lines that this package wrote, and then the canonical text.
func (v *Verifier) matches(raw []byte, last canonjson.Member, hash string) bool {
	if string(last.Key) == "event_hash" {
		cut := last.Start - 1
		if cut > 0 && raw[cut] == ',' && last.End == len(raw)-1 {
			v.scratch = append(append(v.scratch[:0], raw[:cut]...), '}')
			if hashOf(v.scratch) == hash {
				return true
			}
		}
	}
	canonical, err := canonjson.CanonicalWithout(v.scratch[:0], raw, "event_hash")
	v.scratch = canonical
	return err == nil && hashOf(canonical) == hash
}

func isVersion(raw []byte) bool {
	n, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && n > 0 && n == math.Trunc(n) && !math.IsInf(n, 0)
}

// stringOf decodes a JSON string. It returns nil for anything else.
func stringOf(raw []byte) *string {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return new(canonjson.Unquote(raw))
}

// Type returns the type of an event line, "" if it has none.
func Type(raw []byte) string { return Text(raw, "type") }

// Text returns a string member of an event line, "" if it has none.
func Text(raw []byte, key string) string {
	var text string
	_ = canonjson.Members(raw, func(m canonjson.Member) { // a malformed line has no members
		if string(m.Key) == key {
			text = ""
			if s := stringOf(m.Value); s != nil {
				text = *s
			}
		}
	})
	return text
}

// Checkpoint is what a run's record stores about its log: the number of lines before the closing
// events, and the hash of the last one.
type Checkpoint struct {
	Count int64  `json:"count" is:"min=0"`
	Head  string `json:"head" is:"optional,empty"`
}

// Report is the result of checking one log.
type Report struct {
	Lines              int64
	Events             int64
	ParseIssues        []ParseIssue
	VerificationIssues []VerifyIssue
	// RecordIssues are contradictions between the log and the run's record.
	RecordIssues []VerifyIssue
	// FirstFault is the offset of the first line with an issue, -1 if there is
	// none.
	FirstFault int64
	FirstLine  int64
	// Tampered reports that the log contains an event about the loss of events during the run.
	Tampered bool
}

// Sound reports whether there are no issues.
func (r *Report) Sound() bool {
	return len(r.ParseIssues) == 0 && len(r.VerificationIssues) == 0 && len(r.RecordIssues) == 0
}

// maxIssues is the maximum number of issues of each kind in a report.
const maxIssues = 1_000

// Verify reads and checks a whole log. checkpoint is nil if the run recorded none. closed means
// that the run is terminal: then a log with a checkpoint must contain a terminal event after it.
// Verify calls visit, if it is not nil, for every parsed line.
func Verify(r io.Reader, checkpoint *Checkpoint, closed bool, visit func(Line)) (*Report, error) {
	return verifyWith(r, Verifier{}, checkpoint, closed, visit)
}

func verifyWith(r io.Reader, v Verifier, checkpoint *Checkpoint, closed bool, visit func(Line)) (*Report, error) {
	report := &Report{FirstFault: -1}
	scanner := NewScanner(r, 0, 0)
	log := progress{checkpoint: checkpoint, headMatches: checkpoint != nil && checkpoint.Count == 0}
	for {
		line, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		report.Lines = line.Seq
		faults := report.faults()
		if hash, ok := report.line(&v, line); ok {
			log.event(line, hash)
			if visit != nil {
				visit(line)
			}
		}
		log.counted(line.Seq)
		if report.faults() > faults && report.FirstFault < 0 {
			report.FirstFault, report.FirstLine = line.Offset, line.Seq
		}
	}
	if checkpoint != nil {
		report.compare(*checkpoint, log.headMatches, closed, log.terminal)
	}
	return report, nil
}

// line checks one line and stores its issues. ok reports whether it is an event.
func (r *Report) line(v *Verifier, line Line) (hash string, ok bool) {
	var issues []VerifyIssue
	var err error
	if line.Long {
		err = fmt.Errorf("longer than %d bytes", MaxLine)
	} else {
		issues, hash, err = v.Event(line.Raw)
	}
	if err != nil {
		if len(r.ParseIssues) < maxIssues {
			r.ParseIssues = append(r.ParseIssues, ParseIssue{Seq: line.Seq, Error: err.Error(), Raw: excerpt(line.Raw)})
		}
		return "", false
	}
	r.Events++
	if bytes.Contains(line.Raw, []byte(RunLogTampered)) && Type(line.Raw) == RunLogTampered {
		r.Tampered = true
		issues = append(issues, VerifyIssue{Seq: v.seq, Code: LogTampered, Message: tampered(line.Raw)})
	}
	if len(r.VerificationIssues) < maxIssues {
		r.VerificationIssues = append(r.VerificationIssues, issues...)
	}
	return hash, true
}

// Integrity is damage to a log during its run.
type Integrity struct {
	State      string `json:"state" is:"enum=broken"`
	LostEvents int64  `json:"lost_events" is:"min=0"`
	LastHash   string `json:"last_hash" is:"optional,empty"`
}

func (i Integrity) String() string {
	return fmt.Sprintf("%d events were taken from the log while the run went on; the last of them had the hash %s", i.LostEvents, i.LastHash)
}

// tampered describes the loss that a run.log_tampered event records.
func tampered(raw []byte) string {
	var e struct {
		Payload Integrity `json:"payload"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return "events were taken from the log while the run went on"
	}
	return e.Payload.String()
}

// progress tracks a log against the checkpoint of its run.
type progress struct {
	checkpoint  *Checkpoint
	head        string
	headMatches bool
	terminal    bool
}

func (p *progress) event(line Line, hash string) {
	if hash != "" {
		p.head = hash
	}
	if p.checkpoint != nil && line.Seq > p.checkpoint.Count && !p.terminal {
		p.terminal = Terminal(Type(line.Raw))
	}
}

func (p *progress) counted(seq int64) {
	if p.checkpoint != nil && seq == p.checkpoint.Count {
		p.headMatches = p.head == p.checkpoint.Head
	}
}

func (r *Report) faults() int { return len(r.ParseIssues) + len(r.VerificationIssues) }

func (r *Report) compare(c Checkpoint, headMatches, closed, terminal bool) {
	add := func(code, format string, args ...any) {
		r.RecordIssues = append(r.RecordIssues, VerifyIssue{Seq: c.Count, Code: code, Message: fmt.Sprintf(format, args...)})
	}
	switch {
	case r.Lines < c.Count:
		add(ShorterThanRecord, "the log has %d lines, the run recorded %d", r.Lines, c.Count)
	case !headMatches:
		add(DiffersFromRecord, "line %d does not have the hash that the run recorded", c.Count)
	case closed && !terminal:
		add(ShorterThanRecord, "the run is over, but no closing event follows line %d", c.Count)
	}
}

// excerpt returns the part of a malformed line that an issue repeats.
func excerpt(raw []byte) string {
	const limit = 64 << 10
	return string(bytes.ToValidUTF8(raw[:min(limit, len(raw))], []byte("\uFFFD")))
}
