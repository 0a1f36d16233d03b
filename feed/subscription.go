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
	// breath is the shortest time between two reads for a busy subscription, so
	// that lines gather.
	breath = 5 * time.Millisecond
	// again is when a log is tried again that could not be read.
	again = time.Second
	// turn is how much of one log is read before the others have theirs.
	turn = 1 << 20
	// holdTerminal is how long a run's last event waits for its record.
	holdTerminal = 250 * time.Millisecond
)

// place is a log of some workspace, by the directory of that.
type place struct {
	dir string
	key logKey
}

type subscription struct {
	spec   Spec
	hub    *Hub
	ctx    context.Context //nolint:containedctx // a subscription is the scope of its context
	cancel context.CancelFunc
	acked  int64
	gone   chan struct{} // closed when run has returned; nil before start

	mu      sync.Mutex
	trees   map[string]*workspace.Workspace
	cursors map[place]*cursor // what they point to belongs to run, once it is started
	dirty   map[place]struct{}
	wake    chan struct{}
}

func newSubscription(h *Hub, spec Spec) *subscription {
	ctx, cancel := context.WithCancel(h.ctx)
	return &subscription{
		spec: spec, hub: h, ctx: ctx, cancel: cancel,
		trees: map[string]*workspace.Workspace{}, cursors: map[place]*cursor{}, dirty: map[place]struct{}{}, wake: make(chan struct{}, 1),
	}
}

// attach fixes the cursors of a workspace at the present ends of its logs; the
// hub is locked.
func (s *subscription) attach(w *watcher) {
	if _, attached := w.subs[s]; attached {
		return
	}
	w.subs[s] = struct{}{}
	w.scan()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees[w.ws.Dir()] = w.ws
	for key := range w.sizes {
		if p := (place{w.ws.Dir(), key}); s.spec.Grown == nil && s.wants(key) && s.cursors[p] == nil {
			s.cursors[p] = present(w.ws, key)
		}
	}
}

// rebase goes on in the tree that took the place of an older one. Runs that were
// not in that are new; the hub is locked.
func (s *subscription) rebase(w *watcher) {
	w.subs[s] = struct{}{}
	w.scan()
	s.mu.Lock()
	s.trees[w.ws.Dir()] = w.ws
	for p := range s.cursors {
		if p.dir == w.ws.Dir() {
			s.dirty[p] = struct{}{}
		}
	}
	s.mu.Unlock()
	for key := range w.sizes {
		s.mark(w.ws, key)
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
		ws, c := s.at(p)
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
			_, c := s.at(p)
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
		ws, c := s.at(p)
		if err := c.resumeAfter(s.ctx, ws, p.key, s.spec.After); err != nil {
			return err
		}
		s.leave(p)
	}
	return nil
}

// places lists the logs that the subscription has cursors for, by project and
// run.
func (s *subscription) places() []place {
	s.mu.Lock()
	defer s.mu.Unlock()
	places := slices.Collect(maps.Keys(s.cursors))
	slices.SortFunc(places, byName)
	return places
}

// byName orders logs by project and run.
func byName(a, b place) int {
	return cmp.Or(cmp.Compare(a.key.project, b.key.project), cmp.Compare(a.key.run, b.key.run))
}

// mark notes that a log grew. A log that the subscription has no cursor for is
// new: it is read from its start.
func (s *subscription) mark(ws *workspace.Workspace, key logKey) {
	if !s.wants(key) {
		return
	}
	if s.spec.Grown != nil {
		s.spec.Grown()
		return
	}
	p := place{ws.Dir(), key}
	s.mu.Lock()
	if s.cursors[p] == nil {
		s.cursors[p] = &cursor{}
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
func (s *subscription) leave(p place) {
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
			if rest == breath || (rest > 0 && soon == nil) {
				soon = time.After(rest)
			}
		}
		select {
		case <-s.ctx.Done():
			return
		case <-s.wake:
		case <-soon:
		}
		if !s.pause(breath - s.hub.clock.Since(began)) {
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

func (s *subscription) take() []place {
	s.mu.Lock()
	defer s.mu.Unlock()
	places := slices.Collect(maps.Keys(s.dirty))
	clear(s.dirty)
	return places
}

// deliver sends what a log has behind the cursor, one turn of it at most. It
// says when to come back for more, 0 when the log has nothing more now. The
// error says that the client or the subscription is gone.
func (s *subscription) deliver(p place) (rest time.Duration, gone error) {
	ws, c := s.at(p)
	l, err := openLog(s.ctx, ws, p.key)
	if errors.Is(err, fs.ErrNotExist) {
		if c.first == "" {
			*c = cursor{} // nothing could tell the log from a later one
		}
		return 0, nil
	}
	if err != nil {
		return again, s.ctx.Err()
	}
	defer l.close()
	if err = c.enter(l); err == nil {
		err = c.count(l)
	}
	if err != nil {
		return again, s.ctx.Err()
	}
	end := c.offset + turn
	err = c.lines(l, func(line events.Line) bool {
		kind, sound := kindOf(line.Raw)
		if sound && s.asksFor(kind) {
			if s.mustHold(ws, p.key, c, kind, line.Raw) {
				rest = breath
				return false
			}
			if gone = s.send(p, line.Seq, line.Raw); gone != nil {
				return false
			}
		}
		c.pass(line)
		if c.offset >= end {
			rest = breath
		}
		return rest == 0
	})
	if gone == nil && err != nil {
		return again, s.ctx.Err()
	}
	return rest, gone
}

// at gives the tree and the cursor of a place.
func (s *subscription) at(p place) (*workspace.Workspace, *cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trees[p.dir], s.cursors[p]
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
func (s *subscription) mustHold(ws *workspace.Workspace, key logKey, c *cursor, kind string, raw []byte) bool {
	if !events.Terminal(kind) {
		c.held = time.Time{}
		return false
	}
	if c.held.IsZero() {
		c.held = s.hub.clock.Now()
	}
	return s.hub.clock.Since(c.held) < holdTerminal && awaitsRecord(ws, key, raw)
}

// awaitsRecord reports whether the session of a terminal event is still told as
// running by its live owner.
func awaitsRecord(ws *workspace.Workspace, key logKey, raw []byte) bool {
	record, err := session.Read(ws, events.Text(raw, "session_ref"))
	return err == nil && record.RunID == key.run && session.Live(ws, record)
}

// send writes one notification with the event spliced in as it stands.
func (s *subscription) send(p place, seq int64, raw []byte) error {
	raw = bytes.TrimSpace(raw)
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\ufffd")) // the stream to the client stays UTF-8
	}
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
	line = append(append(line, `,"event":`...), raw...)
	return s.hub.sink.Notify(s.ctx, append(line, '}', '}'))
}
