package index

// Reading logs, whole or incrementally.

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc64"
	"io"
	"os"

	"ac/events"
	"ac/internal/canonjson"
	"ac/internal/durable"
)

const (
	edge        = 4 << 10  // how much of a log's beginning and end is hashed
	fullCheck   = 64 << 10 // logs up to this size are compared whole before more is read
	batchEvents = 256
	maxWords    = 10_000
	maxPayload  = 64 << 10
)

// runStats is what a run's log contributes.
type runStats struct {
	Events         int64           `json:"n,omitempty"`
	ParseErrors    int64           `json:"e,omitempty"`
	PolicyDecided  int64           `json:"pd,omitempty"`
	PolicyDenied   int64           `json:"px,omitempty"`
	BudgetDecided  int64           `json:"bd,omitempty"`
	BudgetAlerts   int64           `json:"ba,omitempty"`
	BudgetExceeded int64           `json:"bx,omitempty"`
	Last           *LastEvent      `json:"last,omitempty"`
	PolicyDecision json.RawMessage `json:"lpd,omitempty"`
	PolicyDenial   json.RawMessage `json:"lpx,omitempty"`
	BudgetDecision json.RawMessage `json:"lbd,omitempty"`
	RetryOf        string          `json:"r,omitempty"` // the run that it repeats
	SessionRef     string          `json:"s,omitempty"` // of its newest session
	Usage          *usageFold      `json:"u,omitempty"`
}

// LastEvent is the event of a run with the highest seq.
type LastEvent struct {
	Seq         int64   `json:"seq"`
	Type        string  `json:"type"`
	TSWallclock *string `json:"ts_wallclock"`
	Actor       *string `json:"actor"`
	Visibility  *string `json:"visibility"`
}

func (s *runStats) count(e *event) {
	s.Events++
	s.usage(e)
	switch string(e.kind.text) {
	case events.RunStarted:
		s.RetryOf, s.SessionRef = events.Text(e.payload, "retry_of"), string(e.session.text)
	case events.RunExecuting, events.RunContinued:
		s.SessionRef = string(e.session.text)
	case "policy.decision":
		s.PolicyDecided++
		latest(&s.PolicyDecision, e.payload)
	case "policy.denied":
		s.PolicyDenied++
		latest(&s.PolicyDenial, e.payload)
	case "budget.decision":
		s.BudgetDecided++
		latest(&s.BudgetDecision, e.payload)
	case "budget.alert":
		s.BudgetAlerts++
	case "budget.exceeded":
		s.BudgetExceeded++
	}
}

// latest keeps payloads that are objects; of an excessively large one it only
// keeps that it existed.
func latest(into *json.RawMessage, payload []byte) {
	if len(payload) == 0 || payload[0] != '{' {
		return
	}
	if len(payload) > maxPayload {
		payload = []byte("{}")
	}
	*into = bytes.Clone(payload)
}

// newest is the last event read, not yet added to the stats, which happens once
// a reading.
type newest struct {
	seq        int64
	kind       *word
	actor      *word
	visibility *word
	ts         []byte
	hasTS      bool
	some       bool
}

func (n *newest) set(row eventRow, visibility *word, ts member) {
	n.seq, n.kind, n.actor, n.visibility = row.seq, row.kind, row.actor, visibility
	n.ts, n.hasTS, n.some = append(n.ts[:0], ts.text...), !ts.absent, true
}

func (n *newest) into(s *runStats) {
	if !n.some {
		return
	}
	s.Last = &LastEvent{Seq: n.seq, Type: n.kind.text, Actor: n.actor.pointer(), Visibility: n.visibility.pointer()}
	if n.hasTS {
		text := string(n.ts)
		s.Last.TSWallclock = &text
	}
}

// word is a text shared by many rows. The writer assigns its number.
type word struct {
	text string
	id   int64
}

// value is the number of a word for a row; no word is NULL.
func (w *word) value() any {
	if w == nil {
		return nil
	}
	return w.id
}

func (w *word) pointer() *string {
	if w == nil {
		return nil
	}
	return &w.text
}

// eventRow is an event to be inserted.
type eventRow struct {
	seq, at        int64 // noTime if it has none
	kind, actor    *word
	offset, length int64
	sum            uint32
}

type faultRow struct {
	seq            int64
	fault          int
	offset, length int64
	sum            uint32
}

// logJob is a log to be read.
type logJob struct {
	source source
	file   *file
	run    int64 // the number of the file whose run or conversation it belongs to
	stats  runStats
	was    logState
	known  bool // it was read before
	// unchanged: its version is that of the last reading, which is not
	// conclusive.
	unchanged bool
}

// logBatch is a piece of a log. The first one of a job says what to delete, the
// last one has its end.
type logBatch struct {
	job    *logJob
	first  bool
	whole  bool // everything is read again
	events []eventRow
	faults []faultRow
	asked  []interactionRow
	lines  []messageLine
	end    *logEnd
}

// logEnd is the state of a log after reading. If it is unchanged only same is
// set.
type logEnd struct {
	same  bool
	gone  bool
	state logState
	sum   uint64 // of what follows the offset
	stats runStats
}

// logReader reads logs, one after the other. It is not safe for concurrent use.
type logReader struct {
	fsys    durable.FS
	words   map[string]*word
	scanner *events.Scanner
	newest  newest
}

func newLogReader(fsys durable.FS) *logReader {
	r := &logReader{fsys: fsys, words: map[string]*word{}, scanner: events.NewScanner(nil, 0, 0)}
	r.scanner.LimitLines(maxLine)
	return r
}

// next is the next line. The bound on lines is exact, wherever the reading
// began.
func (r *logReader) next() (events.Line, error) {
	line, err := r.scanner.Next()
	if err == nil && !line.Long && len(line.Raw) > maxLine {
		line.Long, line.Raw = true, line.Raw[:events.LongStart]
	}
	return line, err
}

func (r *logReader) word(m member) *word {
	if m.absent {
		return nil
	}
	if w := r.words[string(m.text)]; w != nil {
		return w
	}
	if len(r.words) >= maxWords {
		clear(r.words)
	}
	w := &word{text: string(m.text)}
	r.words[w.text] = w
	return w
}

// read reads a job and emits what it finds, piece by piece.
func (r *logReader) read(ctx context.Context, job *logJob, give func(logBatch) error) error {
	f, err := r.fsys.OpenFile(job.source.path, os.O_RDONLY, 0)
	if err != nil {
		return give(logBatch{job: job, first: true, whole: true, end: &logEnd{gone: true}})
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || durable.IdentityOf(st) != job.source.version.ID {
		// Replaced since it was checked: the next sync reads it.
		return give(logBatch{job: job, first: true, whole: true, end: &logEnd{gone: true}})
	}
	size := st.Size()
	continues := job.known && job.was.offset <= size && r.continues(f, job, size)
	if continues && job.unchanged {
		if sum, err := tailSum(f, job.was.offset, size); err == nil && sum == job.file.sum {
			return give(logBatch{job: job, first: true, end: &logEnd{same: true}})
		}
	}
	if !continues {
		job.was, job.stats = logState{}, runStats{}
	} else if job.was.tailEvent {
		job.stats = runStats{}
		if err := json.Unmarshal(job.was.settled, &job.stats); err != nil {
			continues, job.was = false, logState{}
		}
	}
	return r.lines(ctx, f, job, size, !continues, give)
}

// continues reports whether the part of a log that was read is still there.
func (r *logReader) continues(f durable.File, job *logJob, size int64) bool {
	grown := size > job.file.version.Size || job.source.version.Size > job.file.version.Size
	if !grown && !job.unchanged {
		return false
	}
	if job.source.version.ID != job.file.version.ID {
		return false
	}
	head, tail, err := edges(f, job.was.offset)
	if err != nil || head != job.was.head || tail != job.was.tail {
		return false
	}
	if job.was.offset > fullCheck {
		return true
	}
	sum, seq, err := r.sumTo(f, job.was.offset)
	return err == nil && sum == job.was.sum && seq == job.was.seq
}

func (r *logReader) sumTo(f durable.File, offset int64) (sum uint32, seq int64, err error) {
	r.scanner.Reset(io.NewSectionReader(f, 0, offset), 0, 0)
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return sum, seq, nil
		}
		if err != nil {
			return 0, 0, err
		}
		sum, seq = chain(sum, lineSum(line.Raw)), line.Seq
	}
}

// chain extends the checksum of a log by that of a line.
func chain(sum, line uint32) uint32 {
	return extend(sum, binary.LittleEndian.AppendUint32(nil, line))
}

// edges hashes the first line, and the last bytes before an offset.
func edges(f durable.File, offset int64) (head, tail uint64, err error) {
	block := make([]byte, min(edge, offset))
	if _, err := f.ReadAt(block, 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	line, _, _ := bytes.Cut(block, []byte("\n"))
	head = crc64.Checksum(line, crcTable())
	if _, err := f.ReadAt(block, offset-int64(len(block))); err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	return head, crc64.Checksum(block, crcTable()), nil
}

// tailSum hashes what follows the last complete line.
func tailSum(f durable.File, offset, size int64) (uint64, error) {
	h := crc64.New(crcTable())
	if _, err := io.Copy(h, io.NewSectionReader(f, offset, size-offset)); err != nil {
		return 0, err
	}
	return h.Sum64(), nil
}

// lines reads from where the job was left up to size.
func (r *logReader) lines(ctx context.Context, f durable.File, job *logJob, size int64, whole bool, give func(logBatch) error) error {
	state := logState{offset: job.was.offset, seq: job.was.seq, sum: job.was.sum}
	r.scanner.Reset(io.NewSectionReader(f, state.offset, size-state.offset), state.offset, state.seq)
	batch := logBatch{job: job, first: true, whole: whole}
	stats := job.stats
	r.newest.some = false
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		sum := lineSum(line.Raw)
		if line.Torn {
			if job.source.kind == kindLog && !line.Long {
				r.provisional(line, sum, &batch, &state, &stats)
			} else if job.source.kind == kindMessages && !line.Long {
				batch.message(line)
			}
			break
		}
		state.offset, state.seq, state.sum = line.Next, line.Seq, chain(state.sum, sum)
		if job.source.kind == kindMessages {
			batch.message(line)
		} else {
			r.line(line, sum, &batch, &stats)
		}
		if len(batch.events)+len(batch.faults)+len(batch.lines) >= batchEvents {
			if err := give(batch); err != nil {
				return err
			}
			batch = logBatch{job: job}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	r.newest.into(&stats)
	sum, err := r.finish(f, size, &state)
	if err != nil {
		return err
	}
	batch.end = &logEnd{state: state, stats: stats, sum: sum}
	return give(batch)
}

func (r *logReader) finish(f durable.File, size int64, state *logState) (sum uint64, err error) {
	if state.head, state.tail, err = edges(f, state.offset); err != nil {
		return 0, err
	}
	return tailSum(f, state.offset, size)
}

// line makes the row of a complete line.
func (r *logReader) line(line events.Line, sum uint32, batch *logBatch, stats *runStats) {
	var e event
	fault := faultTooLong
	length := line.Next - line.Offset - 1
	if !line.Long {
		fault = e.parse(line.Raw)
		length = int64(len(line.Raw))
	}
	if fault != 0 {
		stats.ParseErrors++
		batch.faults = append(batch.faults, faultRow{line.Seq, fault, line.Offset, length, sum})
		return
	}
	r.take(line, sum, &e, batch, stats)
}

func (r *logReader) take(line events.Line, sum uint32, e *event, batch *logBatch, stats *runStats) {
	stats.count(e)
	row := r.row(line, sum, e)
	r.newest.set(row, r.word(e.visibility), e.ts)
	batch.events = append(batch.events, row)
	if i, ok := interactionOf(e); ok {
		i.seq, i.at = row.seq, row.at
		batch.asked = append(batch.asked, i)
	}
}

func (r *logReader) row(line events.Line, sum uint32, e *event) eventRow {
	row := eventRow{
		seq: line.Seq, at: noTime, kind: r.word(e.kind), actor: r.word(e.actor),
		offset: line.Offset, length: int64(len(line.Raw)), sum: sum,
	}
	if e.hasAt {
		row.at = e.at
	}
	return row
}

// provisional counts a last line without LF as an event if it is one, until the
// log is read again.
func (r *logReader) provisional(line events.Line, sum uint32, batch *logBatch, state *logState, stats *runStats) {
	var e event
	if e.parse(line.Raw) != 0 {
		return
	}
	r.newest.into(stats)
	settled, err := json.Marshal(stats)
	if err != nil {
		return // the next sync reads it
	}
	state.tailEvent, state.settled = true, settled
	r.take(line, sum, &e, batch, stats)
}

// compactPayload is the payload of an event as lists show it.
func compactPayload(payload []byte) string {
	if payload == nil {
		return "null"
	}
	text, err := canonjson.Canonical(nil, payload)
	if err != nil {
		return "null"
	}
	return string(text)
}
