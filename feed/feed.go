// Package feed delivers the events of run logs to subscribers, from any program: each complete
// line once, in the order of its file.
//
// The log is the queue. A subscription is a filter, a sink, and a cursor for each log that grew
// since the subscription began. For all other logs the subscriptions share one front. New lines of
// a log are read once and shared by all subscriptions. Backfill and live events meet at the same
// positions, so there is neither gap nor repetition between them. A slow reader holds a cursor, not
// a buffer.
//
// While there are subscriptions, all logs are watched. Without any, the hub watches them only if
// OnGrowth has set a callback, and only through the operating system's file events, never by
// polling.
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

// Sink receives notifications, one line of JSON each, without its LF. Notify blocks while the
// reader is slow, and fails when the reader is gone or ctx ends.
type Sink interface {
	Notify(ctx context.Context, line []byte) error
}

// Spec is what a subscriber asks for.
type Spec struct {
	ID        string               // generated if empty
	Workspace *workspace.Workspace // nil: every watched workspace
	Index     *index.Index         // of the workspace; nil: read the logs only
	Given     string               // the workspace as the client spelled it
	Project   string
	Run       string
	Types     []string
	Backfill  int              // the maximum number of most recent matching events
	Since     map[string]int64 // by run: the last seq that the client has
	// After is the time from which the client wants the events of runs that Since does not name, by
	// their own timestamps. Zero means new events only. After disables the backfill. Since disables
	// it for the runs that it names.
	After time.Time
	// Deliver, if set, receives the events instead of the hub's sink. Like the sink, it blocks
	// while its reader is slow, and fails when the reader is gone or ctx ends.
	Deliver func(ctx context.Context, e Event) error
	// OnGrowth, if set, is called whenever any program appended to a watched log. The subscription then
	// sends no events from logs. OnGrowth must not block.
	OnGrowth func(project, run string)

	// background, if set, runs from the start of the subscription. The subscription ends when it
	// returns.
	background func(ctx context.Context) error
}

// Event is a line of a run's log with its position. Raw is the unchanged line.
type Event struct {
	Project, Run string
	Seq          int64
	Raw          []byte
}

// SubscribeResult is the answer to a subscriber. Reset holds the runs whose log is shorter than the
// client's position in it. Their events are sent from the start.
type SubscribeResult struct {
	ID    string           `json:"subscription_id"`
	Reset map[string]int64 `json:"reset,omitempty"`
	// Head is the number of the last line of the requested log, 0 if there is none. It is nil if
	// the subscription covers many logs.
	Head *int64 `json:"head_seq,omitempty"`
}

// Hub holds the subscriptions of one client and the watchers that serve them. It is safe for
// concurrent use.
type Hub struct {
	sink  Sink
	clock *clock.Clock
	newID func(prefix string) string

	ctx    context.Context //nolint:containedctx // of all watchers
	cancel context.CancelFunc
	wg     sync.WaitGroup

	logs *Logs

	grown func(dir string) // called when a log of a workspace grew; may be nil

	knowing sync.Mutex // held while Register registers a workspace

	mu       sync.Mutex
	known    map[string]*workspace.Workspace // by directory
	watchers map[string]*watcher
	subs     map[string]*subscription
}

// NewHub makes the hub of a client. Close ends it. sink may be nil if every subscription has its
// own.
func NewHub(sink Sink, c *clock.Clock, newID func(prefix string) string) *Hub {
	ctx, cancel := context.WithCancel(context.Background())
	return &Hub{
		sink: sink, clock: c, newID: newID, ctx: ctx, cancel: cancel, logs: NewLogs(),
		known: map[string]*workspace.Workspace{}, watchers: map[string]*watcher{}, subs: map[string]*subscription{},
	}
}

// OnGrowth sets the callback for growth of a known workspace's logs, by any program. The
// callback must not block. Call OnGrowth before using the hub.
func (h *Hub) OnGrowth(told func(dir string)) { h.grown = told }

// Logs returns the reader of the logs that this hub's subscriptions follow.
func (h *Hub) Logs() *Logs { return h.logs }

// Close ends all subscriptions and waits for them.
func (h *Hub) Close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.wg.Wait()
}

// Register registers a workspace that some request named. From now on, subscriptions without a
// workspace receive its events too.
func (h *Hub) Register(w *workspace.Workspace) {
	if h.isRegistered(w) {
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
	listened := len(waiting) > 0 || old != nil && old.hasSubscriptions()
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
		return // all subscribers are gone
	}
	if old != nil {
		// Another tree replaced the one at this name. The subscriptions continue in the new one,
		// after as many lines as they have read.
		for _, s := range old.subscriptions() {
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

func (h *Hub) isRegistered(w *workspace.Workspace) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[w.Dir()] == w || h.ctx.Err() != nil
}

// LogAppended notifies the hub that this process appended to a log of a workspace.
func (h *Hub) LogAppended(dir, log string) {
	h.mu.Lock()
	w := h.watchers[dir]
	h.mu.Unlock()
	if w != nil {
		w.logGrew(log)
	}
}

// Subscribe fixes the positions from which a new subscription reads. Nothing is sent before start
// is called.
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

// add adds a subscription. It drops an existing one with the same id, which the caller must wait
// for.
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

// wanted returns the workspaces that a subscriber asks for.
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

// join attaches a subscription to the watcher of a workspace. It retries if the watcher is replaced
// in the meantime.
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

// start runs a subscription, unless it has already ended.
func (h *Hub) start(s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.ctx.Err() == nil {
		s.gone = make(chan struct{})
		h.wg.Go(s.run)
	}
}

// Unsubscribe ends a subscription. It sends nothing after Unsubscribe returns. Unsubscribe reports
// whether there was one.
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

// Ack records how far a subscriber reports to have read.
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

// drop removes a subscription without waiting for it. The caller holds the hub's lock.
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

// watch returns the running watcher of a workspace, or starts one. The caller holds the hub's lock.
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
