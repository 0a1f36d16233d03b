package source

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
	edge        = 4 << 10  // number of bytes hashed at each end of a log
	fullCheck   = 64 << 10 // logs that were read up to this size are compared whole before they are continued
	batchEvents = 256
	maxWords    = 10_000
	maxPayload  = 64 << 10
)

// Word is a text shared by many rows. The writer assigns its ID.
type Word struct {
	Text string
	ID   int64
}

// Value returns the word's ID as a column value, nil (NULL) for no word.
func (w *Word) Value() any {
	if w == nil {
		return nil
	}
	return w.ID
}

func (w *Word) pointer() *string {
	if w == nil {
		return nil
	}
	return &w.Text
}

// EventRow is an event to be inserted.
type EventRow struct {
	Seq, At        int64 // NoTime if it has none
	Kind, Actor    *Word
	Offset, Length int64
	Sum            uint32
}

// FaultRow is a line that is not an event, to be listed as a parse error.
type FaultRow struct {
	Seq            int64
	Fault          int
	Offset, Length int64
	Sum            uint32
}

// LogState records how far a log was read.
type LogState struct {
	Offset int64  // after the last complete line
	Seq    int64  // number of lines before the offset
	Head   uint64 // hash of the first line
	Tail   uint64 // hash of the last bytes before the offset
	Sum    uint32 // CRC of everything before the offset
	// TailEvent: an unterminated line after the offset was counted as an event. Settled has the
	// run's stats without it, as JSON.
	TailEvent bool
	Settled   []byte
}

// Job is a log to be read.
type Job struct {
	Source File
	// LastVersion is the version at the last read. Sum is the hash of what followed the last complete
	// line.
	LastVersion durable.Version
	Sum         uint64
	Run         int64 // the file ID of the run or conversation that it belongs to
	Stats       Stats
	LastState   LogState
	Known       bool // it was read before
	// Unchanged: its version equals that of the last read, which is inconclusive.
	Unchanged bool
}

// Batch is a piece of a log. The first batch of a job states what to delete, the last one has
// the End.
type Batch struct {
	Job          *Job
	First        bool
	Whole        bool // everything is read again
	Events       []EventRow
	Faults       []FaultRow
	Interactions []InteractionRow
	Lines        []MessageLine
	End          *End
}

// End is the state of a log after reading. If the log is unchanged, only Same is set.
type End struct {
	Same  bool
	Gone  bool
	State LogState
	Sum   uint64 // hash of what follows the offset
	Stats Stats
}

// Reader reads logs, one at a time. It is not safe for concurrent use.
type Reader struct {
	fsys    durable.FS
	words   map[string]*Word
	scanner *events.Scanner
	newest  newest
}

// NewReader returns a reader of logs.
func NewReader(fsys durable.FS) *Reader {
	r := &Reader{fsys: fsys, words: map[string]*Word{}, scanner: events.NewScanner(nil, 0, 0)}
	r.scanner.LimitLines(MaxLine)
	return r
}

// next returns the next line. It applies the bound on lines exactly, wherever reading began.
func (r *Reader) next() (events.Line, error) {
	line, err := r.scanner.Next()
	if err == nil && !line.Long && len(line.Raw) > MaxLine {
		line.Long, line.Raw = true, line.Raw[:events.LongStart]
	}
	return line, err
}

func (r *Reader) word(m Member) *Word {
	if m.absent {
		return nil
	}
	if w := r.words[string(m.Text)]; w != nil {
		return w
	}
	if len(r.words) >= maxWords {
		clear(r.words)
	}
	w := &Word{Text: string(m.Text)}
	r.words[w.Text] = w
	return w
}

// Read reads the log of a job and passes it to give in batches.
func (r *Reader) Read(ctx context.Context, job *Job, give func(Batch) error) error {
	f, err := r.fsys.OpenFile(job.Source.Path, os.O_RDONLY, 0)
	if err != nil {
		return give(Batch{Job: job, First: true, Whole: true, End: &End{Gone: true}})
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || durable.IdentityOf(st) != job.Source.Version.ID {
		// Replaced since the walk: the next sync reads it.
		return give(Batch{Job: job, First: true, Whole: true, End: &End{Gone: true}})
	}
	size := st.Size()
	continues := job.Known && job.LastState.Offset <= size && r.canContinue(f, job, size)
	if continues && job.Unchanged {
		if sum, err := tailSum(f, job.LastState.Offset, size); err == nil && sum == job.Sum {
			return give(Batch{Job: job, First: true, End: &End{Same: true}})
		}
	}
	if !continues {
		job.LastState, job.Stats = LogState{}, Stats{}
	} else if job.LastState.TailEvent {
		job.Stats = Stats{}
		if err := json.Unmarshal(job.LastState.Settled, &job.Stats); err != nil {
			continues, job.LastState = false, LogState{}
		}
	}
	return r.lines(ctx, f, job, size, !continues, give)
}

// canContinue reports whether the part of a log that was read before is unchanged. For a large
// log it checks only both ends of that part.
func (r *Reader) canContinue(f durable.File, job *Job, size int64) bool {
	grown := size > job.LastVersion.Size || job.Source.Version.Size > job.LastVersion.Size
	if !grown && !job.Unchanged {
		return false
	}
	if job.Source.Version.ID != job.LastVersion.ID {
		return false
	}
	head, tail, err := edges(f, job.LastState.Offset)
	if err != nil || head != job.LastState.Head || tail != job.LastState.Tail {
		return false
	}
	if job.LastState.Offset > fullCheck {
		return true
	}
	sum, seq, err := r.sumTo(f, job.LastState.Offset)
	return err == nil && sum == job.LastState.Sum && seq == job.LastState.Seq
}

func (r *Reader) sumTo(f durable.File, offset int64) (sum uint32, seq int64, err error) {
	r.scanner.Reset(io.NewSectionReader(f, 0, offset), 0, 0)
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			return sum, seq, nil
		}
		if err != nil {
			return 0, 0, err
		}
		sum, seq = chain(sum, LineSum(line.Raw)), line.Seq
	}
}

// chain extends the checksum of a log with that of a line.
func chain(sum, line uint32) uint32 {
	return extend(sum, binary.LittleEndian.AppendUint32(nil, line))
}

// edges hashes the first line and the last bytes before an offset.
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

// lines reads from where the last read ended up to size.
func (r *Reader) lines(ctx context.Context, f durable.File, job *Job, size int64, whole bool, give func(Batch) error) error {
	state := LogState{Offset: job.LastState.Offset, Seq: job.LastState.Seq, Sum: job.LastState.Sum}
	r.scanner.Reset(io.NewSectionReader(f, state.Offset, size-state.Offset), state.Offset, state.Seq)
	batch := Batch{Job: job, First: true, Whole: whole}
	stats := job.Stats
	r.newest.hasEvent = false
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		sum := LineSum(line.Raw)
		if line.Torn {
			if job.Source.Kind == KindLog && !line.Long {
				r.provisional(line, sum, &batch, &state, &stats)
			} else if job.Source.Kind == KindMessages && !line.Long {
				batch.message(line)
			}
			break
		}
		state.Offset, state.Seq, state.Sum = line.Next, line.Seq, chain(state.Sum, sum)
		if job.Source.Kind == KindMessages {
			batch.message(line)
		} else {
			r.line(line, sum, &batch, &stats)
		}
		if len(batch.Events)+len(batch.Faults)+len(batch.Lines) >= batchEvents {
			if err := give(batch); err != nil {
				return err
			}
			batch = Batch{Job: job}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	r.newest.saveTo(&stats)
	sum, err := r.finish(f, size, &state)
	if err != nil {
		return err
	}
	batch.End = &End{State: state, Stats: stats, Sum: sum}
	return give(batch)
}

func (r *Reader) finish(f durable.File, size int64, state *LogState) (sum uint64, err error) {
	if state.Head, state.Tail, err = edges(f, state.Offset); err != nil {
		return 0, err
	}
	return tailSum(f, state.Offset, size)
}

// line adds the row of a complete line to the batch.
func (r *Reader) line(line events.Line, sum uint32, batch *Batch, stats *Stats) {
	var e Event
	fault := FaultTooLong
	length := line.Next - line.Offset - 1
	if !line.Long {
		fault = e.Parse(line.Raw)
		length = int64(len(line.Raw))
	}
	if fault != 0 {
		stats.ParseErrors++
		batch.Faults = append(batch.Faults, FaultRow{line.Seq, fault, line.Offset, length, sum})
		return
	}
	r.addEvent(line, sum, &e, batch, stats)
}

func (r *Reader) addEvent(line events.Line, sum uint32, e *Event, batch *Batch, stats *Stats) {
	stats.count(e)
	row := r.row(line, sum, e)
	r.newest.set(row, r.word(e.Visibility), e.TS)
	batch.Events = append(batch.Events, row)
	if i, ok := interactionOf(e); ok {
		i.Seq, i.At = row.Seq, row.At
		batch.Interactions = append(batch.Interactions, i)
	}
}

func (r *Reader) row(line events.Line, sum uint32, e *Event) EventRow {
	row := EventRow{
		Seq: line.Seq, At: NoTime, Kind: r.word(e.Kind), Actor: r.word(e.Actor),
		Offset: line.Offset, Length: int64(len(line.Raw)), Sum: sum,
	}
	if e.hasAt {
		row.At = e.at
	}
	return row
}

// provisional counts an unterminated last line as an event if it is one. The next read of the
// log undoes that.
func (r *Reader) provisional(line events.Line, sum uint32, batch *Batch, state *LogState, stats *Stats) {
	var e Event
	if e.Parse(line.Raw) != 0 {
		return
	}
	r.newest.saveTo(stats)
	settled, err := json.Marshal(stats)
	if err != nil {
		return // the next sync reads it
	}
	state.TailEvent, state.Settled = true, settled
	r.addEvent(line, sum, &e, batch, stats)
}

// CompactPayload returns the payload of an event as lists show it: canonical JSON, "null" if it
// has none.
func CompactPayload(payload []byte) string {
	if payload == nil {
		return "null"
	}
	text, err := canonjson.Canonical(nil, payload)
	if err != nil {
		return "null"
	}
	return string(text)
}
