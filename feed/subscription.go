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
	// minReadGap is the minimum time between two reads of a busy subscription, so that lines are
	// batched.
	minReadGap = 5 * time.Millisecond
	// retryAfter is the delay before retrying a log that could not be read.
	retryAfter = time.Second
	// readQuota is how many bytes of one log are read before the other logs are.
	readQuota = 1 << 20
	// holdTerminal is how long a run's terminal event waits for the run's record.
	holdTerminal = 250 * time.Millisecond
)

// logRef identifies a log by workspace directory and key.
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
	head   *int64        // last line of the requested log at the start; nil if there may be many logs
	gone   chan struct{} // closed when run has returned; nil before start

	mu      sync.Mutex
	sources map[string]*watcher // by directory
	cursors map[logRef]*cursor  // of logs read or to be read; once started, run owns the values
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

// listen adds a workspace as a source of events.
func (s *subscription) listen(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources[w.ws.Dir()] = w
}

// rebase continues in a tree that replaced an older one. Runs that were not in the old tree are
// new.
func (s *subscription) rebase(old, fresh *watcher) {
	dir := fresh.ws.Dir()
	for _, key := range old.keys(s.wants) {
		s.ownCursor(logRef{dir, key})
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
	s.signalWake()
}

func (s *subscription) wants(key logKey) bool {
	return (s.spec.Project == "" || s.spec.Project == key.project) && (s.spec.Run == "" || s.spec.Run == key.run)
}

// resume moves the cursors of runs that the client knows up to a seq back to that seq. For a seq
// beyond the end it moves the cursor to the start and returns the run in reset. It runs before the
// subscription is started.
func (s *subscription) resume() (reset map[string]int64, err error) {
	if err := s.resumeByTime(); err != nil || len(s.spec.Since) == 0 {
		return nil, err
	}
	short := map[string]int64{}
	for run, seq := range s.spec.Since {
		if seq > 0 && (s.spec.Run == "" || s.spec.Run == run) {
			short[run] = 0 // removed if a log turns out to be long enough
		}
	}
	for _, p := range s.places() {
		seq, known := s.spec.Since[p.key.run]
		if !known {
			continue
		}
		ws, c := s.ownCursor(p)
		if err := c.resume(s.ctx, ws, p.key, seq); err != nil {
			return nil, err
		}
		if c.seq == seq {
			delete(short, p.key.run)
		}
		s.markUnread(p)
	}
	for _, p := range s.places() {
		if _, reset := short[p.key.run]; reset {
			_, c := s.ownCursor(p)
			*c = cursor{id: c.id}
		}
	}
	if len(short) == 0 {
		return nil, nil
	}
	return short, nil
}

// resumeByTime moves the cursors of the other runs back to the first event that is not older than
// spec.After.
func (s *subscription) resumeByTime() error {
	if s.spec.After.IsZero() {
		return nil
	}
	for _, p := range s.places() {
		if _, known := s.spec.Since[p.key.run]; known {
			continue
		}
		ws, c := s.ownCursor(p)
		if err := c.resumeAfter(s.ctx, ws, p.key, s.spec.After); err != nil {
			return err
		}
		s.markUnread(p)
	}
	return nil
}

// headOf returns the number of the last line of the requested run, nil if none is named.
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

// places lists the logs that the subscription covers, by project and run.
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

// mark records that a log grew. before is the front of the log before it grew.
func (s *subscription) mark(ws *workspace.Workspace, key logKey, before front) {
	if !s.wants(key) {
		return
	}
	if s.spec.OnGrowth != nil {
		s.spec.OnGrowth(key.project, key.run)
		return
	}
	p := logRef{ws.Dir(), key}
	s.mu.Lock()
	if s.cursors[p] == nil {
		s.cursors[p] = before.cursor()
	}
	s.dirty[p] = struct{}{}
	s.mu.Unlock()
	s.signalWake()
}

func (s *subscription) signalWake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// markUnread marks a log as unread without waking the reader.
func (s *subscription) markUnread(p logRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty[p] = struct{}{}
}

// wait returns when a dropped subscription has stopped sending.
func (s *subscription) wait() {
	if s != nil && s.gone != nil {
		<-s.gone
	}
}

// run sends the backfill and then new events.
func (s *subscription) run() {
	defer close(s.gone)
	if s.spec.background != nil {
		done := make(chan struct{})
		go func() { // ends with the subscription
			defer close(done)
			_ = s.spec.background(s.ctx) // it ended, or the client is gone
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
		var soon <-chan time.Time // when to resume unfinished reads
		for _, p := range s.take() {
			rest, err := s.deliver(p)
			if err != nil {
				return
			}
			if rest > 0 {
				s.markUnread(p)
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

// pause waits for d. It reports false once the subscription has ended.
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
