package output

// Recording: raw bytes to files, decoded text to events, in memory bounded by the backlog
// that is allowed.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"ac/events"
	"ac/internal/canonjson"
	"ac/internal/durable"
	"ac/internal/redact"
	"ac/runs/transcript"
	"ac/runs/usage"
)

const (
	// firstBlock is what is read of a pipe at once until that is too little: most agents
	// print a line at a time, and there are many of them.
	firstBlock = 4 << 10
	// ReadBlock is the most that is read of it at once.
	ReadBlock = 64 << 10
	// maxBacklog is how many bytes of output may wait for the log before the
	// pipes are no longer read.
	maxBacklog = 4 << 20
	// maxWrite is about how much of it is sealed and written at once, before
	// one sync makes all of it durable.
	maxWrite = 512 << 10
	// logPatience is how long a log that cannot be written is tried again.
	logPatience = 2 * time.Second
)

// Recording is what the output of a session is recorded with.
type Recording struct {
	Log    *events.Log
	Source events.Source
	Base   events.Draft
	// Secrets are masked in whatever is written down.
	Secrets *redact.Values
	// Read is given each line of output, with its stream. It may be called by two
	// goroutines at once.
	Read func(stream string, line []byte)
	// News gives the events that a line of output calls for.
	News func(line []byte) ([]events.Draft, error)
	// Divert takes the lines of stdout in place of news, where a protocol is spoken;
	// nil otherwise. It may block. Those of stderr tell nothing then.
	Divert func(line []byte)
	// Notified gives the events that a notification calls for.
	Notified func([]usage.Report, []usage.Cycle) ([]events.Draft, error)
	// Failed is called once when the log cannot be written.
	Failed func()
}

// Recorder takes the output of one session to its log. Readers add to it; one
// goroutine writes.
type Recorder struct {
	with Recording

	mu      sync.Mutex
	changed *sync.Cond
	queue   []events.Draft
	backlog int
	closed  bool
	err     error
	units   int64 // UTF-16 code units of all text
	done    chan struct{}

	queued, written, durable int64 // how many drafts have come so far
}

// NewRecorder begins to record; Finish ends it.
func NewRecorder(with Recording) *Recorder {
	r := &Recorder{with: with, done: make(chan struct{})}
	r.changed = sync.NewCond(&r.mu)
	go r.run()
	return r
}

// add queues one chunk of text, waiting while too much is queued.
func (r *Recorder) add(stream string, text []byte) {
	draft := r.with.Base
	draft.Type = events.ProviderRaw
	// Room for what escapes usually need: growing would copy the text again.
	payload := make([]byte, 0, len(text)+len(text)/16+64)
	payload = append(append(payload, `{"stream":"`...), stream...)
	payload = append(payload, `","chunk":`...)
	draft.Payload = append(canonjson.AppendString(payload, string(text)), '}')
	draft = r.with.Source.Raw(draft)

	r.mu.Lock()
	defer r.mu.Unlock()
	for r.backlog > maxBacklog && r.err == nil {
		r.changed.Wait()
	}
	r.units += utf16Units(text)
	r.enqueue(draft)
}

// enqueue runs with the recorder locked.
func (r *Recorder) enqueue(draft events.Draft) {
	if r.err != nil {
		return
	}
	r.queue = append(r.queue, draft)
	r.queued++
	r.backlog += len(draft.Payload)
	r.changed.Broadcast()
}

// Tell queues events behind all that is queued.
func (r *Recorder) Tell(drafts ...events.Draft) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, draft := range drafts {
		r.enqueue(draft)
	}
}

// Commit is tell that returns when the events are durable, and with them all that
// was queued before.
func (r *Recorder) Commit(drafts ...events.Draft) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, draft := range drafts {
		r.enqueue(draft)
	}
	for mine := r.queued; r.durable < mine && r.err == nil; {
		r.changed.Wait()
	}
	return r.err
}

// QueueUsage queues the events of what an agent reported.
func (r *Recorder) QueueUsage(reports []usage.Report, found []usage.Cycle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	drafts, err := r.with.Notified(reports, found)
	if err != nil {
		return // a report that cannot be written as JSON tells nothing
	}
	for _, draft := range drafts {
		r.enqueue(draft)
	}
}

// count is how many events were written so far.
func (r *Recorder) count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written
}

// line searches one line of output and queues the events it calls for, behind
// the chunk that it came with.
func (r *Recorder) line(stream string, line []byte) {
	r.with.Read(stream, line)
	if r.with.Divert != nil {
		if stream == "stdout" {
			r.with.Divert(line)
		}
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	drafts, err := r.with.News(line)
	if err != nil {
		return // a report that cannot be written as JSON tells nothing
	}
	for _, draft := range drafts {
		r.enqueue(draft)
	}
}

// run writes what is queued in batches, each behind the one before; another
// goroutine makes them durable.
func (r *Recorder) run() {
	defer close(r.done)
	dirty, synced := make(chan struct{}, 1), make(chan struct{})
	go func() { // ends with run
		defer close(synced)
		for range dirty {
			written := r.count()
			if err := r.with.Log.Sync(); err != nil {
				// What the kernel lost of it cannot be told: it is not tried again.
				r.fail(fmt.Errorf("the output could not be recorded: %w", err))
				continue
			}
			r.mu.Lock()
			r.durable = written
			r.changed.Broadcast()
			r.mu.Unlock()
		}
	}()
	for batch := r.next(); len(batch) > 0; batch = r.next() {
		if err := r.write(batch); err != nil {
			r.fail(err)
		} else {
			r.mu.Lock()
			r.written += int64(len(batch))
			r.mu.Unlock()
		}
		select {
		case dirty <- struct{}{}:
		default: // the next sync serves this batch too
		}
	}
	close(dirty)
	<-synced
}

// next gives what is queued, nothing at the
// end.
func (r *Recorder) next() []events.Draft {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) == 0 && !r.closed {
		r.changed.Wait()
	}
	batch := r.queue
	r.queue, r.backlog = nil, 0
	r.changed.Broadcast()
	return batch
}

// fail keeps the first failure and tells it.
func (r *Recorder) fail(err error) {
	r.mu.Lock()
	first := r.err == nil
	if first {
		r.err = err
	}
	r.changed.Broadcast()
	r.mu.Unlock()
	if first {
		r.with.Failed()
	}
}

// Recorded is how many UTF-16 code units of output there were, of all streams.
func (r *Recorder) Recorded() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.units
}

// Lost reports whether the log could not be written: what came since is not in it.
func (r *Recorder) Lost() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// write writes a batch, trying again for a while where the disk refuses.
func (r *Recorder) write(batch []events.Draft) error {
	began := r.with.Source.Clock.Now()
	for {
		var err error
		for err == nil && len(batch) > 0 {
			n := piece(batch)
			if err = r.with.Log.Write(context.Background(), batch[:n]...); err == nil {
				batch = batch[n:]
			}
		}
		if err == nil {
			return nil
		}
		if partial, ok := errors.AsType[*events.PartialError](err); ok {
			batch = batch[partial.Written:] // nothing is said twice
		}
		if r.with.Source.Clock.Since(began) > logPatience {
			return fmt.Errorf("the output could not be recorded: %w", err)
		}
		time.Sleep(logPatience / 20)
	}
}

// piece is how many drafts of a batch are written at once.
func piece(batch []events.Draft) int {
	size := 0
	for i := range batch {
		if size += len(batch[i].Payload); size >= maxWrite {
			return i + 1
		}
	}
	return len(batch)
}

// Finish writes what is left, makes it durable and returns the first failure.
func (r *Recorder) Finish() error {
	r.mu.Lock()
	r.closed = true
	r.changed.Broadcast()
	r.mu.Unlock()
	<-r.done
	return errors.Join(r.err, r.with.Log.Check(context.Background()), r.with.Log.Sync(), r.with.Log.Close())
}

// stream is one stream of a provider on its way to a file and the log.
type stream struct {
	name    string
	file    durable.File
	mask    *redact.Stream
	decoder utf8Decoder
	lines   transcript.Cutter
	failed  error // of the file
}

// Pump reads one stream of the provider to its end: bytes to the file, text to
// the log. It goes on reading whatever fails, so that the provider never hangs
// on a full pipe.
func (r *Recorder) Pump(name string, from *os.File, to durable.File) error {
	s := &stream{name: name, file: to, mask: r.with.Secrets.Stream()}
	buf := make([]byte, firstBlock)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			r.take(s, s.mask.Next(buf[:n]))
		}
		if n == len(buf) && n < ReadBlock {
			buf = make([]byte, ReadBlock)
		}
		if err == nil {
			continue
		}
		r.take(s, s.mask.Rest())
		r.text(s, s.decoder.rest())
		s.lines.End(func(line []byte) { r.line(s.name, line) })
		if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
			s.failed = errors.Join(s.failed, err)
		}
		return s.failed
	}
}

func (r *Recorder) take(s *stream, block []byte) {
	if len(block) == 0 {
		return
	}
	if s.failed == nil {
		s.failed = durable.WriteAll(s.file, block)
	}
	r.text(s, s.decoder.decode(block))
}

func (r *Recorder) text(s *stream, text []byte) {
	if len(text) > 0 {
		r.add(s.name, text)
		s.lines.Add(text, func(line []byte) { r.line(s.name, line) })
	}
}

// utf8Decoder turns a stream of bytes into text, keeping a sequence that a read
// cut in two for the next one. Invalid bytes become U+FFFD.
type utf8Decoder struct{ kept []byte }

// decode gives the text of the next block. It may lie in the block itself.
func (d *utf8Decoder) decode(block []byte) []byte {
	text := block
	if len(d.kept) > 0 {
		text = slices.Concat(d.kept, block)
		d.kept = nil
	}
	for back := 1; back <= min(utf8.UTFMax-1, len(text)); back++ {
		c := text[len(text)-back]
		if utf8.RuneStart(c) {
			if !utf8.FullRune(text[len(text)-back:]) {
				d.kept = bytes.Clone(text[len(text)-back:])
				text = text[:len(text)-back]
			}
			break
		}
	}
	return valid(text)
}

// rest is what is left at the end of the stream.
func (d *utf8Decoder) rest() []byte { return valid(d.kept) }

func valid(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		out = utf8.AppendRune(out, r) // RuneError is U+FFFD
		text = text[size:]
	}
	return out
}

// Length is how many UTF-16 code units a text has once it is recorded.
func Length(text string) int64 { return utf16Units(valid([]byte(text))) }

// utf16Units is the length of valid text as ECMAScript counts it.
func utf16Units(text []byte) (n int64) {
	for _, c := range text {
		switch {
		case c >= 0xF0:
			n += 2
		case c < 0x80 || c >= 0xC0:
			n++
		}
	}
	return n
}
