package worker

// The shipper of an attempt: it sends the lines of the session's log as numbered drafts, in
// batches.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/internal/durable"
	"ac/workspace/doc"
)

// How long to wait for news of sealed drafts before sending them again.
const (
	firstResend = time.Second
	maxResend   = 30 * time.Second
)

// outlet is what a shipper ships, and how.
type outlet struct {
	attempt, session string
	log              func() (durable.File, error) // opens it for reading
	publish          func(ctx context.Context, id string, body []byte) (stored func(context.Context) error, err error)
	// put stores a payload that is too long for a batch and returns the name of its object.
	put func(ctx context.Context, payload []byte) (string, error)
	// news is what is known of the session's record now, spec what its execution was
	// ordered as.
	news func() fleet.Record
	spec func() *doc.Spec
	// elapsed is a clock for the pauses.
	elapsed func() time.Duration
}

// shipper reads the lines of a session and publishes them. It forgets nothing that is not
// sealed: the log is its queue. Its step is for one goroutine; the rest is safe for
// concurrent use.
type shipper struct {
	outlet

	// Of step alone: sending are the messages of which is not known that the carrier has them,
	// synced is up to where the log is known to be on the disk.
	sending []sent
	synced  int64

	mu         sync.Mutex
	marks      []mark // places of batches; the first one is where the session begins
	at         mark   // the next line
	skip       int64  // numbers up to it are counted and not sent
	sealed     int64
	generation int64
	underWay   []int64 // last numbers of the batches that are published and not sealed
	told       *fleet.Record
	pause      time.Duration
	quiet      time.Duration // since when nothing more was sealed
}

// sent is a message that may not be stored yet.
type sent struct {
	stored     func(context.Context) error
	generation int64
}

// mark is a place in the log: the line there has this number, if it has any.
type mark struct{ n, offset int64 }

// newShipper begins at the line of a session's log that lies at base, with what was
// sealed before.
func newShipper(to outlet, base, sealed, generation int64) *shipper {
	return &shipper{
		outlet: to, marks: []mark{{1, base}}, at: mark{1, base}, sealed: sealed, skip: sealed, generation: generation,
		pause: firstResend, quiet: to.elapsed(),
	}
}

// rebase moves the beginning of the session, before anything was read.
func (s *shipper) rebase(base int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = []mark{{1, base}}
	s.at = s.marks[0]
}

// step publishes the next batch, and reports whether there may be more to do at once. When there
// is not, the carrier has all of them. An error leaves everything as it was, or begins again
// behind what is sealed.
func (s *shipper) step(ctx context.Context) (more bool, err error) {
	if err = s.stored(ctx, fleet.MaxSending-1); err == nil {
		if more, err = s.next(ctx); err == nil && more {
			return true, nil
		}
	}
	return false, errors.Join(err, s.stored(ctx, 0))
}

// stored waits until the carrier has all but so many batches. Those behind one that it does not
// have are of no use to the hub.
func (s *shipper) stored(ctx context.Context, most int) error {
	for len(s.sending) > most {
		first := s.sending[0]
		s.sending = s.sending[1:]
		if err := first.stored(ctx); err != nil {
			s.sending = nil
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.generation == first.generation { // else it began again meanwhile
				s.again(s.sealed + 1)
			}
			return err
		}
	}
	return nil
}

// next publishes the next batch.
func (s *shipper) next(ctx context.Context) (more bool, err error) {
	s.mu.Lock()
	from, skip, generation, told := s.at, s.skip, s.generation, s.told
	full := len(s.underWay) >= fleet.MaxUnderWay
	s.mu.Unlock()
	if full {
		return false, nil
	}
	batch := fleet.Batch{Attempt: s.attempt, Generation: generation, Drafts: []fleet.Draft{}}
	size, failed := 0, error(nil)
	to, synced, longer, err := s.read(from, s.synced, func(n int64, line logLine) bool {
		if n <= skip {
			return true
		}
		if len(batch.Drafts) == fleet.MaxBatchDrafts || (size > 0 && size+len(line.Payload) > fleet.MaxBatch) {
			more = true
			return false
		}
		var d fleet.Draft
		if d, failed = s.draft(ctx, line); failed != nil {
			return false
		}
		if len(batch.Drafts) == 0 {
			batch.First = n
		}
		if line.Type == events.RunExecuting {
			batch.Spec = s.spec()
		}
		batch.Drafts = append(batch.Drafts, d)
		size += len(d.Payload) + lineOverhead
		return true
	})
	if s.synced, more = synced, more || longer; to == from {
		s.synced = 0 // the log is not what it was
	}
	if err = errors.Join(err, failed); err != nil {
		return false, err
	}
	if now := s.news(); told == nil || !reflect.DeepEqual(*told, now) {
		batch.Record = &now
	}
	if len(batch.Drafts) == 0 && (batch.Record == nil || reflect.DeepEqual(*batch.Record, fleet.Record{})) {
		return more, s.advance(generation, to, batch)
	}
	if len(batch.Drafts) == 0 { // news alone; its id must differ from those of the same place
		s.mu.Lock()
		s.generation++
		generation = s.generation
		s.mu.Unlock()
		batch.First, batch.Generation = to.n, generation
	}
	body, err := batch.Append(nil)
	if err != nil {
		return false, err
	}
	stored, err := s.publish(ctx, fleet.MessageID(s.attempt, batch.First, len(batch.Drafts), batch.Generation), body)
	if err != nil {
		return false, err
	}
	s.sending = append(s.sending, sent{stored, batch.Generation})
	return more, s.advance(generation, to, batch)
}

// lineOverhead is about what a draft has beside its payload, in bytes.
const lineOverhead = 300

// advance takes note of a batch, unless another beginning was asked for meanwhile.
func (s *shipper) advance(generation int64, to mark, batch fleet.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != generation {
		return nil
	}
	if len(batch.Drafts) > 0 {
		if len(s.underWay) == 0 {
			s.quiet = s.elapsed()
		}
		s.marks = append(s.marks, s.at)
		s.underWay = append(s.underWay, batch.First+int64(len(batch.Drafts))-1)
	}
	if batch.Record != nil {
		s.told = batch.Record
	}
	s.at = to
	return nil
}

func (s *shipper) draft(ctx context.Context, line logLine) (fleet.Draft, error) {
	d := fleet.Draft{
		ID: line.ID, At: line.At, Mono: line.Mono, Actor: line.Actor, Vis: line.Vis, Type: line.Type, Payload: bytes.Clone(line.Payload), Cause: line.Cause,
	}
	if len(d.Payload) <= fleet.MaxBatch {
		return d, nil
	}
	name, err := s.put(ctx, d.Payload)
	d.Object, d.Payload = name, nil
	return d, err
}

// encode is a value as JSON, as short as it can be.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// seal takes the hub's word for what is sealed. It reports whether that was news.
func (s *shipper) seal(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= s.sealed {
		return false
	}
	s.sealed = n
	s.skip = max(s.skip, n)
	s.pause, s.quiet = firstResend, s.elapsed()
	for len(s.underWay) > 0 && s.underWay[0] <= n {
		s.underWay = s.underWay[1:]
	}
	for len(s.marks) > 2 && s.marks[2].n <= n+1 {
		s.marks = append(s.marks[:1], s.marks[2:]...)
	}
	return true
}

// from begins again at a draft, in a new generation: the carrier would take a repetition
// for a duplicate and drop it.
func (s *shipper) from(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again(max(n, 1))
}

// reset takes what the hub says is sealed when it is greeted, also when that is less than
// it said before: then its workspace is an older copy.
func (s *shipper) reset(sealed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = sealed
	s.again(sealed + 1)
}

// near is a place before a draft, or its own. It runs with the shipper locked.
func (s *shipper) near(n int64) mark {
	place := s.marks[0]
	for _, m := range append(s.marks[1:len(s.marks):len(s.marks)], s.at) {
		if m.n <= n && m.n > place.n {
			place = m
		}
	}
	return place
}

// again runs with the shipper locked.
func (s *shipper) again(n int64) {
	place := s.near(n)
	s.marks = slices.DeleteFunc(s.marks, func(m mark) bool { return m.n > place.n })
	s.at, s.skip, s.underWay, s.told = place, n-1, nil, nil
	s.generation++
	s.quiet = s.elapsed()
}

// overdue begins again at the first draft that is not sealed when nothing was sealed for a
// while, and returns how long to wait for the next look; 0 when everything is sealed.
func (s *shipper) overdue() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.underWay) == 0 {
		return 0
	}
	if left := s.quiet + s.pause - s.elapsed(); left > 0 {
		return left
	}
	s.pause = min(2*s.pause, maxResend)
	s.again(s.sealed + 1)
	return s.pause
}

// unsealedBytes is how much of the log is not sealed, about.
func (s *shipper) unsealedBytes() int64 {
	file, err := s.log()
	if err != nil {
		return 0
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.at.offset
	for _, m := range s.marks {
		if m.n > s.sealed {
			from = min(from, m.offset)
		}
	}
	return max(st.Size()-from, 0)
}

// state is what is remembered of a shipper over a restart.
func (s *shipper) state() (sent, sealed, generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at.n - 1, s.sealed, s.generation
}
