package output

// Recording: raw bytes to files, decoded text to events. The backlog limit bounds the memory.

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
	// firstBlock is the initial size of a pipe read, kept until a read fills it. Most agents
	// print a line at a time, and there are many of them.
	firstBlock = 4 << 10
	// ReadBlock is the largest size of a pipe read.
	ReadBlock = 64 << 10
	// maxBacklog is how many bytes of output may wait for the log before backpressure stops the
	// reading of pipes.
	maxBacklog = 4 << 20
	// maxWrite is roughly how many bytes are sealed and written at once. One sync makes several
	// writes durable.
	maxWrite = 512 << 10
	// logPatience is how long writes to a failing log are retried.
	logPatience = 2 * time.Second
)

// RecorderConfig holds the destination, callbacks and settings of a Recorder.
type RecorderConfig struct {
	Log    *events.Log
	Source events.Source
	Base   events.Draft
	// Secrets are masked in everything that is written.
	Secrets *redact.Values
	// Read receives each line of output, with its stream. It must be safe for concurrent use by
	// two goroutines.
	Read func(stream string, line []byte)
	// News returns the events that a line of output causes.
	News func(line []byte) ([]events.Draft, error)
	// Divert receives the lines of stdout in place of News if a protocol is spoken; nil
	// otherwise. It may block. Lines of stderr then cause no events.
	Divert func(line []byte)
	// Notified returns the events that a notification causes.
	Notified func([]usage.Report, []usage.Cycle) ([]events.Draft, error)
	// Failed is called once, when the log cannot be written.
	Failed func()
}

// Recorder records the output of one session in its log. Any goroutine may add to it; one
// goroutine writes.
type Recorder struct {
	with RecorderConfig

	mu      sync.Mutex
	changed *sync.Cond
	queue   []events.Draft
	backlog int
	closed  bool
	err     error
	units   int64 // UTF-16 code units of all text
	done    chan struct{}

	queued, written, durable int64 // numbers of drafts so far
}

// NewRecorder starts recording. Finish ends it.
func NewRecorder(with RecorderConfig) *Recorder {
	r := &Recorder{with: with, done: make(chan struct{})}
	r.changed = sync.NewCond(&r.mu)
	go r.run()
	return r
}

// add queues one chunk of text. It blocks while the backlog is too large.
func (r *Recorder) add(stream string, text []byte) {
	draft := r.with.Base
	draft.Type = events.ProviderRaw
	// Room for the usual escapes: growing the slice would copy the text again.
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

// enqueue queues a draft. The caller holds r.mu.
func (r *Recorder) enqueue(draft events.Draft) {
	if r.err != nil {
		return
	}
	r.queue = append(r.queue, draft)
	r.queued++
	r.backlog += len(draft.Payload)
	r.changed.Broadcast()
}

// QueueEvents queues events after everything already queued.
func (r *Recorder) QueueEvents(drafts ...events.Draft) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, draft := range drafts {
		r.enqueue(draft)
	}
}

// Commit is QueueEvents, but returns once the events, and everything queued before them, are durable.
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

// QueueUsage queues the events for usage that an agent reported.
func (r *Recorder) QueueUsage(reports []usage.Report, found []usage.Cycle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	drafts, err := r.with.Notified(reports, found)
	if err != nil {
		return // an unencodable report causes no event
	}
	for _, draft := range drafts {
		r.enqueue(draft)
	}
}

// count returns how many events were written so far.
func (r *Recorder) count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written
}

// line passes on one line of output and queues the events that it causes, after the chunk that
// contains it.
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
		return // an unencodable report causes no event
	}
	for _, draft := range drafts {
		r.enqueue(draft)
	}
}

// run writes the queue in batches, in order. Another goroutine syncs them.
func (r *Recorder) run() {
	defer close(r.done)
	dirty, synced := make(chan struct{}, 1), make(chan struct{})
	go func() { // ends with run
		defer close(synced)
		for range dirty {
			written := r.count()
			if err := r.with.Log.Sync(); err != nil {
				// After a failed sync, the kernel does not report what was lost, so a retry
				// proves nothing.
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
		default: // the pending sync covers this batch
		}
	}
	close(dirty)
	<-synced
}

// next returns the queued drafts, none at the end.
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

// fail stores the first failure and reports it to Failed.
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

// RecordedUnits returns how many UTF-16 code units of output there were, in all streams.
func (r *Recorder) RecordedUnits() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.units
}

// HasFailed reports whether writing the log failed: later events are not in it.
func (r *Recorder) HasFailed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// write writes a batch, with retries for up to logPatience.
func (r *Recorder) write(batch []events.Draft) error {
	began := r.with.Source.Clock.Now()
	for {
		var err error
		for err == nil && len(batch) > 0 {
			n := writeCount(batch)
			if err = r.with.Log.Write(context.Background(), batch[:n]...); err == nil {
				batch = batch[n:]
			}
		}
		if err == nil {
			return nil
		}
		if partial, ok := errors.AsType[*events.PartialError](err); ok {
			batch = batch[partial.Written:] // events already written are not repeated
		}
		if r.with.Source.Clock.Since(began) > logPatience {
			return fmt.Errorf("the output could not be recorded: %w", err)
		}
		time.Sleep(logPatience / 20)
	}
}

// writeCount returns how many drafts of a batch to write at once.
func writeCount(batch []events.Draft) int {
	size := 0
	for i := range batch {
		if size += len(batch[i].Payload); size >= maxWrite {
			return i + 1
		}
	}
	return len(batch)
}

// Finish writes the remaining events, makes them durable and returns all failures.
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
	failed  error // writing or reading the stream
}

// Pump reads one stream of the provider to its end: bytes to the file, text to the log. It keeps
// reading after failures, so that the provider never blocks on a full pipe.
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
		r.take(s, s.mask.Flush())
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

// utf8Decoder decodes a stream of bytes into text. It keeps a sequence split between two reads
// for the next one. Invalid bytes become U+FFFD.
type utf8Decoder struct{ kept []byte }

// decode returns the text of the next block. The result may share memory with the block.
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

// rest returns the incomplete sequence left at the end of the stream.
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

// Length returns how many UTF-16 code units a text has once it is recorded.
func Length(text string) int64 { return utf16Units(valid([]byte(text))) }

// utf16Units returns the length of valid UTF-8 text as ECMAScript counts it.
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
