package feed

// Subscriptions to the transcript of a run: the current items, then changes.

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"ac/internal/fault"
	"ac/runs/transcript"
	"ac/workspace"
)

// TranscriptSpec is what a subscriber to a transcript asks for.
type TranscriptSpec struct {
	ID           string // generated if empty
	Workspace    *workspace.Workspace
	Given        string // the workspace as the client spelled it
	Project, Run string
	// Since is the newest seq that the client has received. 0 means none: all items are sent. nil
	// means everything up to now: only open items and later changes are sent.
	Since *int64
	// Tail limits the existing closed items to those among the newest so many items. Open items are
	// always sent. 0 means all.
	Tail int
	// Settled, if set, is called once all existing items are sent.
	Settled func()
	// Deliver, if set, receives the notifications instead of the hub's sink. It blocks while its
	// reader is slow, and fails when the reader is gone or ctx ends.
	Deliver func(ctx context.Context, n TranscriptNotification) error
}

// TranscriptNotification is one change of a transcript as clients get it.
type TranscriptNotification struct {
	SubscriptionID string            `json:"subscription_id,omitempty"`
	WorkspaceDir   string            `json:"workspace_dir"`
	ProjectID      string            `json:"project_id"`
	RunID          string            `json:"run_id"`
	Seq            int64             `json:"seq"`
	Replayed       bool              `json:"replayed,omitempty"`
	Op             transcript.Op     `json:"op"`
	Item           *transcript.Item  `json:"item,omitempty"`
	ItemID         string            `json:"item_id,omitempty"`
	Field          string            `json:"field,omitempty"`
	Text           string            `json:"text,omitempty"`
	State          *transcript.State `json:"state,omitempty"`
}

// SubscribeTranscript begins a subscription to a transcript. It shares the ids of all
// subscriptions. Nothing is sent before start is called.
func (h *Hub) SubscribeTranscript(spec TranscriptSpec) (answer SubscribeResult, start func(), err error) {
	key := logKey{spec.Project, spec.Run}
	head, err := headOf(h.ctx, spec.Workspace, key)
	if err != nil {
		return answer, nil, err
	}
	v := &view{
		hub: h, spec: spec, head: head, since: head, resumes: spec.Since != nil, pace: newPace(),
		ready: make(chan struct{}), more: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
	var reset map[string]int64
	if v.resumes {
		if v.since = *spec.Since; v.since > head {
			v.since, reset = 0, map[string]int64{spec.Run: 0}
		}
	}
	answer, start, err = h.Subscribe(Spec{
		ID: spec.ID, Workspace: spec.Workspace, Given: spec.Given, Project: spec.Project, Run: spec.Run,
		Since: map[string]int64{spec.Run: head}, Deliver: v.take, background: v.send,
	})
	v.spec.ID = answer.ID
	answer.Head, answer.Reset = &head, reset
	return answer, start, err
}

// headOf returns the number of the last line of a log, 0 if there is no log.
func headOf(ctx context.Context, ws *workspace.Workspace, key logKey) (int64, error) {
	l, err := openNamed(ctx, ws, key)
	if fault.Is(err, fault.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer l.close()
	c := cursor{id: l.id, offset: l.size, seq: -1}
	if err = c.align(l); err == nil {
		err = c.count(l)
	}
	return c.seq, err
}

// view is the transcript of a run for one reader. The delivery of events adds changes, and one
// goroutine sends them.
type view struct {
	hub  *Hub
	spec TranscriptSpec
	head int64 // of the log when the subscription was made
	// since is the seq that the client has. resumes is whether the client named it.
	since   int64
	resumes bool

	ready chan struct{} // closed when fold is set
	more  chan struct{} // signals that changes wait
	room  chan struct{} // signals that changes were taken

	mu     sync.Mutex
	fold   *transcript.Fold
	pace   *pace
	caught bool // an event arrived that was not yet read when the fold was taken
}

// take applies an event. It waits while too many changes are unsent.
func (v *view) take(ctx context.Context, e Event) error {
	select {
	case <-v.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		v.mu.Lock()
		if !v.pace.full() {
			break
		}
		v.mu.Unlock()
		select {
		case <-v.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer v.mu.Unlock()
	if e.Seq <= v.fold.Seq() {
		if !v.caught && e.Seq > v.head {
			return nil // already in the fold
		}
		v.beginAnew()
	}
	v.caught = true
	v.pace.add(e.Seq, v.fold.Line(e.Seq, e.Raw))
	signal(v.more)
	return nil
}

// beginAnew replaces the transcript when the log was replaced. It sends a state as of seq 0, which
// invalidates everything sent before. The caller holds the view's lock.
func (v *view) beginAnew() {
	v.fold, v.pace = transcript.NewFold(v.spec.Project).Fork(), newPace()
	state := v.fold.State()
	v.pace.add(0, []transcript.Change{{Op: transcript.Status, State: &state}})
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a signal is already pending
	}
}

// send sends the existing items and then changes, until the reader is gone or ctx ends.
func (v *view) send(ctx context.Context) error {
	if err := v.begin(ctx); err != nil {
		return err
	}
	for {
		v.mu.Lock()
		now := v.hub.clock.Now()
		d, waits := v.pace.wait(now)
		var list []change
		if waits && d <= 0 {
			list = v.pace.take(now)
		}
		v.mu.Unlock()
		signal(v.room)
		for i := range list {
			if err := v.notify(ctx, &list[i]); err != nil {
				return err
			}
		}
		if waits && d <= 0 {
			continue
		}
		var due <-chan time.Time
		if waits {
			due = time.After(d)
		}
		select {
		case <-due:
		case <-v.more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begin takes the current transcript, and sends the items that the client does not have.
func (v *view) begin(ctx context.Context) error {
	var known []*transcript.Item
	err := v.hub.logs.Transcript(ctx, v.spec.Workspace, v.spec.Project, v.spec.Run, nil, func(f *transcript.Fold) {
		items := f.Items()
		for n, i := range items {
			// The changes of one event may have been sent only in part.
			news := i.SeqLast > v.since || v.resumes && i.SeqLast == v.since
			if i.State == transcript.StateOpen || news && (v.spec.Tail == 0 || n >= len(items)-v.spec.Tail) {
				known = append(known, i.Snapshot())
			}
		}
		v.fold = f.Fork()
	})
	if fault.Is(err, fault.NotFound) {
		v.fold, err = transcript.NewFold(v.spec.Project).Fork(), nil
	}
	if err != nil {
		return err
	}
	state := v.fold.State()
	close(v.ready)
	first := change{Change: transcript.Change{Op: transcript.Status, State: &state}, seq: v.since}
	if err := v.notify(ctx, &first); err != nil {
		return err
	}
	slices.SortStableFunc(known, func(a, b *transcript.Item) int { return cmp.Compare(a.SeqLast, b.SeqLast) })
	for _, i := range known {
		op := transcript.Update
		switch {
		case i.State == transcript.StateClosed:
			op = transcript.Close
		case !v.resumes || i.SeqFirst > v.since:
			op = transcript.Open
		}
		if err := v.notify(ctx, &change{Change: transcript.Change{Op: op, Item: i}, id: i.ID, seq: max(i.SeqLast, v.since)}); err != nil {
			return err
		}
	}
	if v.spec.Settled != nil {
		v.spec.Settled()
	}
	return nil
}

// notify sends one change.
func (v *view) notify(ctx context.Context, c *change) error {
	n := TranscriptNotification{
		SubscriptionID: v.spec.ID, WorkspaceDir: cmp.Or(v.spec.Given, v.spec.Workspace.Dir()), ProjectID: v.spec.Project, RunID: v.spec.Run,
		Seq: c.seq, Replayed: c.seq <= v.head, Op: c.Op, Item: c.Item, State: c.State,
	}
	if c.Op == transcript.Append {
		n.Item, n.ItemID, n.Field, n.Text = nil, c.id, c.Field, strings.Join(c.pieces, "")
	}
	if v.spec.Deliver != nil {
		return v.spec.Deliver(ctx, n)
	}
	return v.hub.notify(ctx, "transcript.notification", n)
}
