package worker

// The shipper of an attempt. It sends the lines of the session's log as numbered drafts, in
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

// Bounds of the pause before resending unsealed drafts.
const (
	firstResend = time.Second
	maxResend   = 30 * time.Second
)

// shipperConfig is where a shipper reads and how it publishes.
type shipperConfig struct {
	attempt, session string
	log              func() (durable.File, error) // opens the log for reading
	publish          func(ctx context.Context, id string, body []byte) (stored func(context.Context) error, err error)
	// put stores a payload that is too long for a batch and returns the name of its object.
	put func(ctx context.Context, payload []byte) (string, error)
	// news returns the current update of the session's record. spec returns the spec that the
	// session executes.
	news func() fleet.Record
	spec func() *doc.Spec
	// elapsed is the clock for timeouts.
	elapsed func() time.Duration
}

// shipper reads the lines of a session and publishes them. The log is its queue: it discards
// nothing unsealed. Only one goroutine may call step; the other methods are safe for concurrent
// use.
type shipper struct {
	shipperConfig

	// Only for step: sending are the messages that the carrier has not acknowledged. synced is
	// the offset up to which the log is known to be durable.
	sending []pendingMessage
	synced  int64

	mu           sync.Mutex
	marks        []mark // positions of batches; the first is the start of the session
	at           mark   // position of the next line
	skip         int64  // drafts up to this number are counted but not sent
	sealed       int64
	generation   int64
	underWay     []int64 // last draft numbers of published, unsealed batches
	sentRecord   *fleet.Record
	pause        time.Duration
	lastProgress time.Duration // when drafts were last sealed
}

// pendingMessage is a message that the carrier has not acknowledged yet.
type pendingMessage struct {
	stored     func(context.Context) error
	generation int64
}

// mark is a position in the log: the draft number and offset of the next line.
type mark struct{ n, offset int64 }

// newShipper returns a shipper for a session that starts at offset base. Drafts up to sealed are
// already sealed.
func newShipper(to shipperConfig, base, sealed, generation int64) *shipper {
	return &shipper{
		shipperConfig: to, marks: []mark{{1, base}}, at: mark{1, base}, sealed: sealed, skip: sealed, generation: generation,
		pause: firstResend, lastProgress: to.elapsed(),
	}
}

// rebase sets the start of the session. Call it before anything is read.
func (s *shipper) rebase(base int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = []mark{{1, base}}
	s.at = s.marks[0]
}

// step publishes the next batch. more reports that the next call may find another one. If more is
// false, the carrier has stored all batches. After an error the shipper is unchanged, or restarts
// after the last sealed draft.
func (s *shipper) step(ctx context.Context) (more bool, err error) {
	if err = s.stored(ctx, fleet.MaxSending-1); err == nil {
		if more, err = s.next(ctx); err == nil && more {
			return true, nil
		}
	}
	return false, errors.Join(err, s.stored(ctx, 0))
}

// stored waits until at most that many batches are unacknowledged. If a batch was not stored, it
// restarts after the last sealed draft: the hub cannot use the later ones.
func (s *shipper) stored(ctx context.Context, most int) error {
	for len(s.sending) > most {
		first := s.sending[0]
		s.sending = s.sending[1:]
		if err := first.stored(ctx); err != nil {
			s.sending = nil
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.generation == first.generation { // otherwise it has restarted meanwhile
				s.restartAt(s.sealed + 1)
			}
			return err
		}
	}
	return nil
}

// next publishes the next batch. more reports that the log continues.
func (s *shipper) next(ctx context.Context) (more bool, err error) {
	s.mu.Lock()
	from, skip, generation, told := s.at, s.skip, s.generation, s.sentRecord
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
		s.synced = 0 // the log was replaced or truncated
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
	if len(batch.Drafts) == 0 { // only a record update; its id must differ from others at this position
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
	s.sending = append(s.sending, pendingMessage{stored, batch.Generation})
	return more, s.advance(generation, to, batch)
}

// lineOverhead is the approximate size of a draft without its payload, in bytes.
const lineOverhead = 300

// advance records a published batch, unless the shipper has restarted meanwhile.
func (s *shipper) advance(generation int64, to mark, batch fleet.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.generation != generation {
		return nil
	}
	if len(batch.Drafts) > 0 {
		if len(s.underWay) == 0 {
			s.lastProgress = s.elapsed()
		}
		s.marks = append(s.marks, s.at)
		s.underWay = append(s.underWay, batch.First+int64(len(batch.Drafts))-1)
	}
	if batch.Record != nil {
		s.sentRecord = batch.Record
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

// encode encodes a value as compact JSON without HTML escaping.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// seal records the drafts that the hub has sealed. It reports whether their number grew.
func (s *shipper) seal(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n <= s.sealed {
		return false
	}
	s.sealed = n
	s.skip = max(s.skip, n)
	s.pause, s.lastProgress = firstResend, s.elapsed()
	for len(s.underWay) > 0 && s.underWay[0] <= n {
		s.underWay = s.underWay[1:]
	}
	for len(s.marks) > 2 && s.marks[2].n <= n+1 {
		s.marks = append(s.marks[:1], s.marks[2:]...)
	}
	return true
}

// from restarts at draft n with a new generation, since the carrier would drop a resend in the
// same generation as a duplicate.
func (s *shipper) from(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restartAt(max(n, 1))
}

// reset applies the number of sealed drafts from a hello. It may be lower than before: then the
// hub's workspace was restored from an older copy.
func (s *shipper) reset(sealed int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = sealed
	s.restartAt(sealed + 1)
}

// near returns the last known position at or before a draft. The caller must hold the shipper's
// lock.
func (s *shipper) near(n int64) mark {
	place := s.marks[0]
	for _, m := range append(s.marks[1:len(s.marks):len(s.marks)], s.at) {
		if m.n <= n && m.n > place.n {
			place = m
		}
	}
	return place
}

// restartAt restarts at draft n with a new generation. The caller must hold the shipper's lock.
func (s *shipper) restartAt(n int64) {
	place := s.near(n)
	s.marks = slices.DeleteFunc(s.marks, func(m mark) bool { return m.n > place.n })
	s.at, s.skip, s.underWay, s.sentRecord = place, n-1, nil, nil
	s.generation++
	s.lastProgress = s.elapsed()
}

// overdue restarts at the first unsealed draft if no draft was sealed for a while. It returns how
// long to wait before the next call, 0 if nothing is unsealed.
func (s *shipper) overdue() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.underWay) == 0 {
		return 0
	}
	if left := s.lastProgress + s.pause - s.elapsed(); left > 0 {
		return left
	}
	s.pause = min(2*s.pause, maxResend)
	s.restartAt(s.sealed + 1)
	return s.pause
}

// unsealedBytes returns the approximate size of the unsealed part of the log.
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

// state returns what must survive a restart of the process.
func (s *shipper) state() (sent, sealed, generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at.n - 1, s.sealed, s.generation
}
