// Package feed brings the events of run logs to subscribers, regardless of who appended
// them: each complete line once, in the order of its file.
//
// The log is the queue. A subscription is a filter, a sink, and a cursor for each log
// that grew since it came; of all other logs one front is kept for everybody. What is new
// in a log is read once and found by all who listen; backfill and live events begin at the
// same places, so that there is neither gap nor repetition between them, and a slow reader
// costs a cursor and no memory. While somebody listens all logs are watched; else those of runs that
// may grow, where the system reports changes by itself, for a client that keeps
// something in step with the logs.
package feed

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"ac/index"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace"
)

// Sink takes notifications, one line of JSON each, without its LF. Notify
// blocks while the reader is slow and fails when it is gone or ctx ends.
type Sink interface {
	Notify(ctx context.Context, line []byte) error
}

// Spec is what a subscriber asks for.
type Spec struct {
	ID        string               // made when empty
	Workspace *workspace.Workspace // nil: every workspace that is watched
	Index     *index.Index         // of the workspace; nil: the logs have to do
	Given     string               // the workspace as the client spelled it
	Project   string
	Run       string
	Types     []string
	Backfill  int              // the most recent matching events, at most
	Since     map[string]int64 // by run: the last seq that the client has
	// After is from when on the client wants the events of runs that Since does
	// not name, by the time that stands in them; zero: of those from now on. With
	// either there is no backfill.
	After time.Time
	// Deliver takes the events in place of the hub's sink. As that it blocks while
	// its reader is slow, and fails when it is gone or ctx ends.
	Deliver func(ctx context.Context, e Event) error
	// Grown, if it is set, is called whenever a watched log grew, by
	// whomever, and no event is read. It must not block.
	Grown func(project, run string)

	// beside runs from the start of the subscription to its end; an error ends it.
	beside func(ctx context.Context) error
}

// Event is a line of a run's log with its place. Raw is the line as it stands.
type Event struct {
	Project, Run string
	Seq          int64
	Raw          []byte
}

// SubscribeResult is the answer to a subscriber. Reset holds the runs whose log is
// shorter than the client's place in it; their events come from the start.
type SubscribeResult struct {
	ID    string           `json:"subscription_id"`
	Reset map[string]int64 `json:"reset,omitempty"`
	// Head is the number of the last line of the one log that is asked for, 0 for none;
	// nil where there may be many.
	Head *int64 `json:"head_seq,omitempty"`
}

// Hub is the subscriptions of one client and the watchers that serve them. It
// is safe for concurrent use.
type Hub struct {
	sink  Sink
	clock *clock.Clock
	newID func(prefix string) string

	ctx    context.Context //nolint:containedctx // of all watchers
	cancel context.CancelFunc
	wg     sync.WaitGroup

	logs *Logs

	grown func(dir string) // told when a log of a workspace grew; nil: nobody

	knowing sync.Mutex // held while a workspace becomes known

	mu       sync.Mutex
	known    map[string]*workspace.Workspace // by directory
	watchers map[string]*watcher
	subs     map[string]*subscription
}

// NewHub makes the hub of a client. Close ends it. The sink may be nil where
// every subscription has its own.
func NewHub(sink Sink, c *clock.Clock, newID func(prefix string) string) *Hub {
	ctx, cancel := context.WithCancel(context.Background())
	return &Hub{
		sink: sink, clock: c, newID: newID, ctx: ctx, cancel: cancel, logs: NewLogs(),
		known: map[string]*workspace.Workspace{}, watchers: map[string]*watcher{}, subs: map[string]*subscription{},
	}
}

// OnGrowth sets the callback for growth of the logs of a known workspace, by
// whomever. It must not block. It is set before the hub is used.
func (h *Hub) OnGrowth(told func(dir string)) { h.grown = told }

// Logs reads the logs that this hub's subscriptions follow.
func (h *Hub) Logs() *Logs { return h.logs }

// Close ends all subscriptions and waits for them.
func (h *Hub) Close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.wg.Wait()
}

// Know tells the hub of a workspace that some request named. Subscriptions
// without a workspace get its events from now on.
func (h *Hub) Know(w *workspace.Workspace) {
	if h.knows(w) {
		return
	}
	h.knowing.Lock()
	defer h.knowing.Unlock()
	h.mu.Lock()
	h.known[w.Dir()] = w
	old := h.watchers[w.Dir()]
	if old != nil {
		h.unwatch(old)
	}
	var waiting []*subscription
	for _, s := range h.subs {
		if s.spec.Workspace == nil {
			waiting = append(waiting, s)
		}
	}
	listened := len(waiting) > 0 || old != nil && old.listened()
	var fresh *watcher
	if listened || old != nil || h.grown != nil {
		fresh = h.watch(w)
	}
	h.mu.Unlock()
	if !listened {
		return
	}
	fresh.ready(h.ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[w.Dir()] != fresh {
		return // everybody who listened is gone
	}
	if old != nil {
		// The tree at this name was swapped: the subscriptions go on in the new
		// one, behind as many lines as they have read.
		for _, s := range old.listeners() {
			if h.subs[s.spec.ID] == s {
				s.rebase(old, fresh)
			}
		}
	}
	for _, s := range waiting {
		if h.subs[s.spec.ID] == s {
			fresh.attach(s)
		}
	}
}

func (h *Hub) knows(w *workspace.Workspace) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[w.Dir()] == w || h.ctx.Err() != nil
}

// LogAppended tells that a log of a workspace grew by this process.
func (h *Hub) LogAppended(dir, log string) {
	h.mu.Lock()
	w := h.watchers[dir]
	h.mu.Unlock()
	if w != nil {
		w.logGrew(log)
	}
}

// Subscribe fixes the places from which a new subscription reads. Nothing is
// sent before start is called.
func (h *Hub) Subscribe(spec Spec) (answer SubscribeResult, start func(), err error) {
	if spec.ID == "" {
		spec.ID = h.newID("sub")
	}
	s, replaced, err := h.add(spec)
	replaced.wait()
	if err != nil {
		return answer, nil, err
	}
	for _, w := range h.wanted(spec) {
		h.join(s, w)
	}
	answer = SubscribeResult{ID: spec.ID}
	if answer.Reset, err = s.resume(); err == nil {
		answer.Head, err = s.headOf()
	}
	if err != nil {
		h.remove(s)
		return answer, nil, err
	}
	return answer, func() { h.start(s) }, nil
}

// Subscribers counts the subscriptions that listen to a workspace.
func (h *Hub) Subscribers(dir string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.subs {
		if s.spec.Workspace == nil || s.spec.Workspace.Dir() == dir {
			n++
		}
	}
	return n
}

// add puts a subscription in the place of another one of its id, which must be
// waited for.
func (h *Hub) add(spec Spec) (s, replaced *subscription, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return nil, nil, fault.New(fault.ShuttingDown, "the server is shutting down")
	}
	if replaced = h.subs[spec.ID]; replaced != nil {
		h.drop(replaced)
	}
	s = newSubscription(h, spec)
	h.subs[spec.ID] = s
	return s, replaced, nil
}

// wanted are the workspaces that a subscriber asks for.
func (h *Hub) wanted(spec Spec) (wanted []*workspace.Workspace) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if spec.Workspace != nil {
		return append(wanted, cmp.Or(h.known[spec.Workspace.Dir()], spec.Workspace))
	}
	for _, dir := range slices.Sorted(maps.Keys(h.known)) {
		wanted = append(wanted, h.known[dir])
	}
	return wanted
}

// join lets a subscription listen to a workspace, whose tree may be swapped meanwhile.
func (h *Hub) join(s *subscription, ws *workspace.Workspace) {
	for s.ctx.Err() == nil {
		h.mu.Lock()
		w := h.watch(cmp.Or(h.known[ws.Dir()], ws))
		h.mu.Unlock()
		w.ready(s.ctx)
		h.mu.Lock()
		same := h.watchers[ws.Dir()] == w
		if same && h.subs[s.spec.ID] == s {
			w.attach(s)
		}
		h.mu.Unlock()
		if same {
			return
		}
	}
}

// start lets a subscription send, unless it was ended before.
func (h *Hub) start(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.ctx.Err() == nil {
		s.gone = make(chan struct{})
		h.wg.Go(s.run)
	}
}

// Unsubscribe ends a subscription; nothing of it is sent once it returns. It
// reports whether there was one.
func (h *Hub) Unsubscribe(id string) bool {
	h.mu.Lock()
	s := h.subs[id]
	if s != nil {
		h.drop(s)
	}
	h.mu.Unlock()
	s.wait()
	return s != nil
}

func (h *Hub) remove(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(s)
}

// Ack keeps how far a subscriber says it has come.
func (h *Hub) Ack(id string, lastMonotonicMS int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.subs[id]
	if s == nil {
		return fault.New(fault.NotFound, "subscription %s does not exist", id)
	}
	s.acked = max(s.acked, lastMonotonicMS)
	return nil
}

// drop takes a subscription out, without waiting for it; the hub is locked.
func (h *Hub) drop(s *subscription) {
	if h.subs[s.spec.ID] == s {
		delete(h.subs, s.spec.ID)
	}
	s.cancel()
	for _, w := range h.watchers {
		if w.detach(s) && h.grown == nil {
			h.unwatch(w)
		}
	}
}

// watch returns the running watcher of a workspace; the hub is locked.
func (h *Hub) watch(w *workspace.Workspace) *watcher {
	if running := h.watchers[w.Dir()]; running != nil {
		return running
	}
	fresh := newWatcher(h, w)
	h.watchers[w.Dir()] = fresh
	h.known[w.Dir()] = cmp.Or(h.known[w.Dir()], w)
	h.wg.Go(fresh.run)
	return fresh
}

func (h *Hub) unwatch(w *watcher) {
	if h.watchers[w.ws.Dir()] == w {
		delete(h.watchers, w.ws.Dir())
	}
	w.stop()
}
