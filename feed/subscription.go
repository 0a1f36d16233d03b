package feed

// One subscription: its cursors, and the goroutine that reads logs for it.

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

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
		s.spec.Grown(key.project, key.run)
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
