package feed

// One subscription: its cursors, and the goroutine that reads logs for it.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"ac/events"
	"ac/internal/canonjson"
	"ac/runs/session"
	"ac/workspace"
)

const (
	// minReadGap is the shortest time between two reads for a busy subscription, so
	// that lines gather.
	minReadGap = 5 * time.Millisecond
	// retryAfter is when a log is tried again that could not be read.
	retryAfter = time.Second
	// readQuota is how much of one log is read before the others have theirs.
	readQuota = 1 << 20
	// holdTerminal is how long a run's last event waits for its record.
	holdTerminal = 250 * time.Millisecond
)

// logRef is a log of some workspace, by the directory of that.
type logRef struct {
	dir string
	key logKey
}

type subscription struct {
	spec   Spec
	hub    *Hub
	ctx    context.Context //nolint:containedctx // a subscription is the scope of its context
	cancel context.CancelFunc
	acked  int64
	head   *int64        // of the one log that is asked for, when it began; nil where there may be many
	gone   chan struct{} // closed when run has returned; nil before start

	mu      sync.Mutex
	sources map[string]*watcher // by directory
	cursors map[logRef]*cursor  // of logs that it read or is to read; what they point to belongs to run, once it is started
	dirty   map[logRef]struct{}
	wake    chan struct{}
}

func newSubscription(h *Hub, spec Spec) *subscription {
	ctx, cancel := context.WithCancel(h.ctx)
	return &subscription{
		spec: spec, hub: h, ctx: ctx, cancel: cancel,
		sources: map[string]*watcher{}, cursors: map[logRef]*cursor{}, dirty: map[logRef]struct{}{}, wake: make(chan struct{}, 1),
	}
}

// listen takes the events of a workspace from now on.
func (s *subscription) listen(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources[w.ws.Dir()] = w
}

// rebase goes on in the tree that took the place of an older one. Runs that were
// not in that are new.
func (s *subscription) rebase(old, fresh *watcher) {
	dir := fresh.ws.Dir()
	for _, key := range old.keys(s.wants) {
		s.own(logRef{dir, key})
	}
	fresh.attach(s)
	s.mu.Lock()
	for p := range s.cursors {
		if p.dir == dir {
			s.dirty[p] = struct{}{}
		}
	}
	s.mu.Unlock()
	for _, key := range fresh.keys(s.wants) {
		s.mark(fresh.ws, key, front{})
	}
	s.rouse()
}

func (s *subscription) wants(key logKey) bool {
	return (s.spec.Project == "" || s.spec.Project == key.project) && (s.spec.Run == "" || s.spec.Run == key.run)
}

// resume moves the cursors of runs that the client knows up to a seq back to
// there. A seq beyond the end is answered with a reset to the start. The
// subscription is not started yet.
func (s *subscription) resume() (reset map[string]int64, err error) {
	if err := s.resumeByTime(); err != nil || len(s.spec.Since) == 0 {
		return nil, err
	}
	short := map[string]int64{}
	for run, seq := range s.spec.Since {
		if seq > 0 && (s.spec.Run == "" || s.spec.Run == run) {
			short[run] = 0 // unless a log is found to be as long
		}
	}
	for _, p := range s.places() {
		seq, known := s.spec.Since[p.key.run]
		if !known {
			continue
		}
		ws, c := s.own(p)
		if err := c.resume(s.ctx, ws, p.key, seq); err != nil {
			return nil, err
		}
		if c.seq == seq {
			delete(short, p.key.run)
		}
		s.leave(p)
	}
	for _, p := range s.places() {
		if _, reset := short[p.key.run]; reset {
			_, c := s.own(p)
			*c = cursor{id: c.id}
		}
	}
	if len(short) == 0 {
		return nil, nil
	}
	return short, nil
}

// resumeByTime moves the cursors of other runs back to the events that are not
// older than the client asked for.
func (s *subscription) resumeByTime() error {
	if s.spec.After.IsZero() {
		return nil
	}
	for _, p := range s.places() {
		if _, known := s.spec.Since[p.key.run]; known {
			continue
		}
		ws, c := s.own(p)
		if err := c.resumeAfter(s.ctx, ws, p.key, s.spec.After); err != nil {
			return err
		}
		s.leave(p)
	}
	return nil
}

// headOf is the number of the last line of the run that is asked for.
func (s *subscription) headOf() (*int64, error) {
	if s.spec.Run == "" || s.spec.Workspace == nil {
		return nil, nil
	}
	s.head = new(int64(0))
	for _, p := range s.places() {
		head, err := headOf(s.ctx, s.source(p).ws, p.key)
		if err != nil {
			return nil, err
		}
		*s.head = max(*s.head, head)
	}
	return s.head, nil
}

// places lists the logs that the subscription may send of, by project and run.
func (s *subscription) places() []logRef {
	s.mu.Lock()
	sources := maps.Clone(s.sources)
	s.mu.Unlock()
	var places []logRef
	for dir, w := range sources {
		for _, key := range w.keys(s.wants) {
			places = append(places, logRef{dir, key})
		}
	}
	slices.SortFunc(places, byName)
	return places
}

// byName orders logs by project and run.
func byName(a, b logRef) int {
	return cmp.Or(cmp.Compare(a.key.project, b.key.project), cmp.Compare(a.key.run, b.key.run))
}

// mark notes that a log grew, which went as far as before when the subscription heard
// of it last.
func (s *subscription) mark(ws *workspace.Workspace, key logKey, before front) {
	if !s.wants(key) {
		return
	}
	if s.spec.Grown != nil {
		s.spec.Grown()
		return
	}
	p := logRef{ws.Dir(), key}
	s.mu.Lock()
	if s.cursors[p] == nil {
		s.cursors[p] = before.cursor()
	}
	s.dirty[p] = struct{}{}
	s.mu.Unlock()
	s.rouse()
}

func (s *subscription) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// leave keeps a log to be read without waking the reader for it.
func (s *subscription) leave(p logRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty[p] = struct{}{}
}

// wait returns when a dropped subscription sends no more.
func (s *subscription) wait() {
	if s != nil && s.gone != nil {
		<-s.gone
	}
}

// run sends the backfill and then what comes.
func (s *subscription) run() {
	defer close(s.gone)
	if s.spec.beside != nil {
		done := make(chan struct{})
		go func() { // ends with the subscription
			defer close(done)
			_ = s.spec.beside(s.ctx) // it ended, or the client is gone
			s.cancel()
		}()
		defer func() {
			s.cancel()
			<-done
		}()
	}
	if s.spec.Workspace != nil && s.spec.Backfill > 0 && s.spec.After.IsZero() && s.backfill() != nil {
		return
	}
	for {
		began := s.hub.clock.Now()
		var soon <-chan time.Time // when to read again what was left
		for _, p := range s.take() {
			rest, err := s.deliver(p)
			if err != nil {
				return
			}
			if rest > 0 {
				s.leave(p)
			}
			if rest == minReadGap || (rest > 0 && soon == nil) {
				soon = time.After(rest)
			}
		}
		select {
		case <-s.ctx.Done():
			return
		case <-s.wake:
		case <-soon:
		}
		if !s.pause(minReadGap - s.hub.clock.Since(began)) {
			return
		}
	}
}

// pause reports whether the subscription is still wanted after a while.
func (s *subscription) pause(d time.Duration) bool {
	if d <= 0 {
		return s.ctx.Err() == nil
	}
	select {
	case <-s.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (s *subscription) take() []logRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	places := slices.Collect(maps.Keys(s.dirty))
	clear(s.dirty)
	return places
}

// deliver sends what a log has behind the cursor, one turn of it at most. It
// says when to come back for more, 0 when the log has nothing more now. The
// error says that the client or the subscription is gone.
func (s *subscription) deliver(p logRef) (rest time.Duration, gone error) {
	w := s.source(p)
	_, c := s.own(p)
	st := w.streamOf(p.key)
	lines, more, shared, err := st.linesAfter(s.ctx, w.ws, p.key, c)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if c.first == "" {
			*c = cursor{} // nothing could tell the log from a later one
		}
		return 0, nil
	case err != nil:
		return retryAfter, s.ctx.Err()
	case !shared:
		return s.readAlone(w, st, p, c)
	}
	for i := range lines {
		if rest, gone = s.pass(w, st, p, c, lines[i]); rest > 0 || gone != nil {
			return rest, gone
		}
	}
	if more {
		rest = minReadGap
	}
	return rest, nil
}

// readAlone is deliver for a cursor that lies elsewhere than the lines that are kept.
func (s *subscription) readAlone(w *watcher, st *stream, p logRef, c *cursor) (rest time.Duration, gone error) {
	l, err := openWritten(s.ctx, w.ws, p.key)
	if err != nil {
		return retryAfter, s.ctx.Err()
	}
	defer l.close()
	if err = c.enter(l); err == nil {
		err = c.count(l)
	}
	if err != nil {
		return retryAfter, s.ctx.Err()
	}
	end := c.offset + readQuota
	err = c.lines(l, func(line events.Line) bool {
		if rest, gone = s.pass(w, st, p, c, share(line)); rest > 0 || gone != nil {
			return false
		}
		if c.offset >= end {
			rest = minReadGap
		}
		return rest == 0
	})
	if gone == nil && err != nil {
		return retryAfter, s.ctx.Err()
	}
	return rest, gone
}

// pass sends a line that is asked for and moves the cursor behind it, unless the line
// has to wait.
func (s *subscription) pass(w *watcher, st *stream, p logRef, c *cursor, line sharedLine) (rest time.Duration, gone error) {
	if line.sound && s.asksFor(line.kind) {
		if s.mustHold(w, st, p.key, c, line) {
			return minReadGap, nil
		}
		if err := s.send(p, line.Seq, line.clean); err != nil {
			return 0, err
		}
	}
	c.pass(line.Line)
	return 0, nil
}

// source is who watches the workspace of a place.
func (s *subscription) source(p logRef) *watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sources[p.dir]
}

// at gives the tree and the cursor of a place: its own, or the place at which the log
// was when the subscription began.
func (s *subscription) at(p logRef) (*workspace.Workspace, *cursor) {
	w := s.source(p)
	// A log that grows now gets a cursor of its own; before that its front is as it was.
	front := w.at(p.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cursors[p]; c != nil {
		return w.ws, c
	}
	return w.ws, front
}

// own is at with a cursor that is kept.
func (s *subscription) own(p logRef) (*workspace.Workspace, *cursor) {
	ws, c := s.at(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.cursors[p]; kept != nil {
		return ws, kept
	}
	s.cursors[p] = c
	return ws, c
}

// kindOf gives the type of an event; sound says that the line is an object.
func kindOf(raw []byte) (kind string, sound bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return "", false
	}
	sound = canonjson.Members(raw, func(m canonjson.Member) {
		if string(m.Key) == "type" {
			kind = ""
			if m.Value[0] == '"' {
				kind = canonjson.Unquote(m.Value)
			}
		}
	}) == nil
	return kind, sound
}

func (s *subscription) asksFor(kind string) bool {
	return len(s.spec.Types) == 0 || slices.Contains(s.spec.Types, kind)
}

// mustHold says whether the end of a run is to wait, since its record does not
// tell it yet: a client that hears of the end shall be able to read it.
func (s *subscription) mustHold(w *watcher, st *stream, key logKey, c *cursor, line sharedLine) bool {
	if !events.Terminal(line.kind) {
		c.held = time.Time{}
		return false
	}
	if c.held.IsZero() {
		c.held = s.hub.clock.Now()
	}
	return s.hub.clock.Since(c.held) < holdTerminal && st.awaitsRecord(s.hub.clock.Now(), w.ws, key, line)
}

// awaitsRecord reports whether the session of a terminal event is still told as
// running by its live owner.
func awaitsRecord(ws *workspace.Workspace, key logKey, raw []byte) bool {
	record, err := session.Read(ws, events.Text(raw, "session_ref"))
	return err == nil && record.RunID == key.run && session.Live(ws, record)
}

// clean is an event as clients get it: the stream to them stays UTF-8.
func clean(raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	if !utf8.Valid(raw) {
		return bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	return raw
}

// send writes one notification with the event, which is clean, spliced in.
func (s *subscription) send(p logRef, seq int64, raw []byte) error {
	if s.spec.Deliver != nil {
		return s.spec.Deliver(s.ctx, Event{Project: p.key.project, Run: p.key.run, Seq: seq, Raw: raw})
	}
	line := make([]byte, 0, len(raw)+256)
	line = append(line, `{"jsonrpc":"2.0","method":"events.notification","params":{"subscription_id":`...)
	line = canonjson.AppendString(line, s.spec.ID)
	line = append(line, `,"project_id":`...)
	line = canonjson.AppendString(line, p.key.project)
	line = append(line, `,"workspace_dir":`...)
	dir := s.spec.Given
	if dir == "" {
		dir = p.dir
	}
	line = canonjson.AppendString(line, dir)
	line = append(line, `,"seq":`...)
	line = strconv.AppendInt(line, seq, 10)
	if s.head != nil && seq <= *s.head {
		line = append(line, `,"replayed":true`...)
	}
	line = append(append(line, `,"event":`...), raw...)
	return s.hub.sink.Notify(s.ctx, append(line, '}', '}'))
}
