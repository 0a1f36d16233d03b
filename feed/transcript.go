package feed

// Subscriptions to the transcript of a run: its items as they stand, then what changes.

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
	ID           string // made when empty
	Workspace    *workspace.Workspace
	Given        string // the workspace as the client spelled it
	Project, Run string
	// Since is what the client has: the newest seq that it was sent. 0 is nothing, nil all
	// that there is now.
	Since *int64
	// Tail bounds what there is to the newest so many items, beside those that are open; 0
	// for all.
	Tail int
	// Settled, where it is set, is called once all that there was is sent.
	Settled func()
	// Deliver takes the notifications in place of the hub's sink. It blocks while its
	// reader is slow, and fails when it is gone or ctx ends.
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

// SubscribeTranscript begins a subscription to a transcript. It is one like others: its id
// is among theirs. Nothing is sent before start is called.
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
		Since: map[string]int64{spec.Run: head}, Deliver: v.take, beside: v.send,
	})
	v.spec.ID = answer.ID
	answer.Head, answer.Reset = &head, reset
	return answer, start, err
}

// headOf is the number of the last line of a log, 0 where there is none.
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

// view is the transcript of a run for one reader. The delivery of events adds to it, one
// goroutine sends.
type view struct {
	hub  *Hub
	spec TranscriptSpec
	head int64 // of the log when the subscription was made
	// since is what the client has; resumes says that it had it of a transcript.
	since   int64
	resumes bool

	ready chan struct{} // closed when fold is there
	more  chan struct{} // something waits
	room  chan struct{} // something was taken

	mu     sync.Mutex
	fold   *transcript.Fold
	pace   *pace
	caught bool // an event came that was not read when the fold was taken
}

// take applies an event. It waits while too much is not sent yet.
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
			return nil // it was read when the fold was taken
		}
		v.beginAnew()
	}
	v.caught = true
	v.pace.add(e.Seq, v.fold.Line(e.Seq, e.Raw))
	signal(v.more)
	return nil
}

// beginAnew takes another log in the place of the one before. Its state, as of seq 0, says
// that nothing of what was sent stands any more. It runs with the view locked.
func (v *view) beginAnew() {
	v.fold, v.pace = transcript.NewFold(v.spec.Project).Fork(), newPace()
	state := v.fold.State()
	v.pace.add(0, []transcript.Change{{Op: transcript.Status, State: &state}})
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is going to be looked at
	}
}

// send sends what there is and then what changes, until the reader is gone or ctx ends.
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

// begin takes the transcript as it stands, and sends of it what the client does not have.
func (v *view) begin(ctx context.Context) error {
	var known []*transcript.Item
	err := v.hub.logs.Transcript(ctx, v.spec.Workspace, v.spec.Project, v.spec.Run, nil, func(f *transcript.Fold) {
		items := f.Items()
		for n, i := range items {
			// What one event changed may have been sent in part.
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
