package comma

// Subscriptions: a cursor in the log of a run, and one in the log of each attempt of its calls. A
// subscription reads events only when the client has room for them, so none pile up.

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"ac/company/orchestration"
	"ac/dialect"
	"ac/events"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/runs/interaction"
	"ac/runs/policy"
	"ac/runs/session"
	"ac/workspace/doc"
)

const (
	// gather is how long lines accumulate while a busy agent prints (debounce).
	gather = 20 * time.Millisecond
	// lookEvery is how often an active run is polled even if nothing changes.
	lookEvery = 2 * time.Second
	// logPage is how many events are read at once.
	logPage = 500
)

// subscription is one client's view of one run. Only its goroutine uses its fields, except wake and
// sending.
type subscription struct {
	*connection
	run  string
	wake chan struct{}
	stop context.CancelFunc
	live context.Context //nolint:containedctx // ends with the subscription

	sending sync.Mutex // held while an event is sent

	seq    int64 // cursor in the log of the run
	head   int64 // end of the log when the subscription began; nothing up to it is sent
	quiet  bool
	record doc.WorkflowRun      // as last read
	views  map[int]strategyView // by template

	begun bool // workflow.started was read
	round int
	steps map[string]bool // steps that began; true if they ended
	calls map[string]*agentCall
	told  map[passage]bool // passages entered; true if they were left
	asked interaction.Fold
}

// passage identifies one entry of a node.
type passage struct {
	round     int
	path      string
	iteration int
}

// errNotYet means that a run's record is behind its log. The record is written a moment later.
var errNotYet = errors.New("the record is behind the log")

// follow subscribes to a run, from now on. It is idempotent.
func (c *connection) follow(ctx context.Context, run string) error {
	if shape.CheckID(run) != "" || c.subscribed(run) {
		return nil
	}
	f := &subscription{
		connection: c, run: run, wake: make(chan struct{}, 1), views: map[int]strategyView{}, steps: map[string]bool{},
		calls: map[string]*agentCall{}, told: map[passage]bool{}, asked: interaction.Fold{Project: c.server.ProjectID, Run: run},
	}
	page, err := f.read(ctx, run, 0, 1)
	if err != nil {
		return err
	}
	f.head, f.quiet = page.HeadSeq, page.HeadSeq > 0
	f.live, f.stop = context.WithCancel(c.ctx)
	c.mu.Lock()
	c.follows[run] = f
	c.mu.Unlock()
	f.rouse()
	c.works.Go(f.serve)
	return nil
}

func (c *connection) subscribed(run string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.follows[run] != nil
}

// unfollow ends a subscription. No event of the run is sent after it returns.
func (c *connection) unfollow(run string) {
	c.mu.Lock()
	f := c.follows[run]
	delete(c.follows, run)
	c.mu.Unlock()
	if f != nil {
		f.stop()
		f.sending.Lock() // an event in progress is sent first
		defer f.sending.Unlock()
	}
}

func (f *subscription) rouse() {
	select {
	case f.wake <- struct{}{}:
	default: // a check is already due
	}
}

// serve sends events until the subscription ends.
func (f *subscription) serve() {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	f.settle(f.run) // the answer about the run must precede its events
	for {
		looks := false
		select {
		case <-f.live.Done():
			return
		case <-f.wake:
		case <-ticker.C:
			looks = f.begun && !f.record.Over()
		}
		if looks {
			// Reading the record takes over jobs whose runner has died.
			if _, err := f.server.record(f.live, f.run); err != nil && f.live.Err() == nil {
				f.server.Log.Warn("a run cannot be looked at", "run", f.run, "error", err)
			}
		}
		err := f.look()
		if errors.Is(err, errNotYet) {
			f.rouse()
		} else if err != nil && f.live.Err() == nil {
			f.server.Log.Warn("a run cannot be followed", "run", f.run, "error", err)
		}
		if !dialect.Pause(f.live, gather) {
			return
		}
	}
}

// look sends everything that happened since its last call.
func (f *subscription) look() error {
	for more := true; more; {
		page, err := f.read(f.live, f.run, f.seq, logPage)
		if err != nil {
			return err
		}
		if len(page.Events) > 0 {
			if err := f.load(); fault.Is(err, fault.NotFound) {
				return nil // it is not a workflow run, but may become one
			} else if err != nil {
				return err
			}
		}
		for _, e := range page.Events {
			if err := f.settleQuiet(e.Seq); err != nil {
				return err
			}
			if err := f.event(e.Event); err != nil {
				return err
			}
			f.seq = e.Seq
		}
		f.seq, more = max(f.seq, page.NextSeq), page.More
	}
	if err := f.settleQuiet(f.seq + 1); err != nil {
		return err
	}
	for _, s := range f.record.Steps {
		if call := f.calls[s.Step]; call != nil && !f.steps[s.Step] {
			if err := f.drain(call); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleQuiet ends the quiet part of the log once it is read: it then sends the open requests.
func (f *subscription) settleQuiet(next int64) error {
	if !f.quiet || next <= f.head {
		return nil
	}
	for _, s := range f.record.Steps {
		if call := f.calls[s.Step]; call != nil && !f.steps[s.Step] {
			if err := f.drain(call); err != nil {
				return err
			}
		}
	}
	f.quiet = false
	for _, open := range f.asked.Open() {
		f.prompt(open, "")
	}
	for _, s := range f.record.Steps {
		if call := f.calls[s.Step]; call != nil && !f.steps[s.Step] {
			for i := range call.attempts {
				for _, open := range call.attempts[i].asked.Open() {
					f.prompt(open, call.name)
				}
			}
		}
	}
	return nil
}

// read reads a page of a log. A missing log is empty.
func (f *subscription) read(ctx context.Context, run string, since int64, limit int) (orchestration.ReplayEventsResult, error) {
	page, err := dialect.Do(ctx, f.server.Company, orchestration.Operations.ReplayEvents, orchestration.ReplayEventsParams{
		Dir: f.server.In(), ProjectID: f.server.ProjectID, RunID: run, SinceSeq: since, Limit: limit,
	})
	if fault.Is(err, fault.NotFound) {
		return orchestration.ReplayEventsResult{}, nil
	}
	return page, err
}

// load reads the record of the run as stored.
func (f *subscription) load() error {
	record, err := dialect.Do(f.live, f.server.Company, orchestration.Operations.WorkflowRecord, orchestration.WorkflowRecordParams{
		WorkflowRunParams: f.server.run(f.run), AsWritten: true,
	})
	if err == nil {
		f.record = record
	}
	return err
}

// view returns the template of a round as clients see it.
func (f *subscription) view(round int) (strategyView, error) {
	if round < 1 || round > len(f.record.Rounds) {
		return strategyView{}, errNotYet
	}
	at := f.record.Rounds[round-1].Template
	if v, ok := f.views[at]; ok {
		return v, nil
	}
	v, err := show(f.record.Templates[at])
	f.views[at] = v
	return v, err
}

// say sends an event, unless the subscription is still quiet.
func (f *subscription) say(id *string, kind string, body any) {
	if f.quiet {
		return
	}
	if !f.conn.Room(f.live, maxAnswers, maxQueued) {
		return
	}
	f.sending.Lock()
	defer f.sending.Unlock()
	if f.live.Err() == nil {
		f.answer(id, frame{kind, body})
	}
}

// logged holds the members of an event that are read.
type logged struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// stepPayload holds the members of the payloads of step events.
type stepPayload struct {
	Step   string         `json:"step"`
	RunID  string         `json:"run_id"`
	Status string         `json:"status"`
	Error  *doc.FlowError `json:"error"`
	Round  int            `json:"round"`
}

// event sends the messages for one event of the run.
func (f *subscription) event(line []byte) error {
	var e logged
	var p stepPayload
	if unreadable := json.Unmarshal(line, &e); unreadable != nil {
		return nil //nolint:nilerr // a torn line says nothing
	}
	switch e.Type {
	case events.WorkflowStarted:
		f.begun = true
		return f.startRound(1)
	case events.WorkflowStepStarted, events.WorkflowStepAttempt, events.WorkflowStepEnded, events.WorkflowRound, events.WorkflowEnded:
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return err
		}
		return f.flowEvent(e.Type, p)
	case events.InteractionRequested, events.InteractionResolved:
		if open := f.asked.Apply(line); open != nil && open.State == interaction.Open {
			f.prompt(*open, "")
		}
	case events.SteerQueued:
		var said session.SteerEvent
		if json.Unmarshal(e.Payload, &said) == nil && f.begun { // earlier texts were sent when they were queued
			f.say(nil, "steer_queued", steerQueued{f.run, said.Text})
		}
	case events.RunPolicyChanged:
		f.policyChanged(e.Payload)
	}
	return nil
}

// flowEvent sends the messages for a workflow event.
func (f *subscription) flowEvent(kind string, p stepPayload) error {
	switch kind {
	case events.WorkflowRound:
		return f.startRound(p.Round)
	case events.WorkflowStepStarted:
		if _, ok := f.step(p.Step); !ok {
			return errNotYet
		}
		f.steps[p.Step] = false
		return f.walk()
	case events.WorkflowStepAttempt:
		return f.attempt(p.Step, p.RunID)
	case events.WorkflowStepEnded:
		s, ok := f.step(p.Step)
		if !ok || !s.Over() {
			return errNotYet
		}
		if call := f.calls[p.Step]; call != nil {
			if err := f.drain(call); err != nil {
				return err
			}
			if err := f.finish(call, s); err != nil {
				return err
			}
			delete(f.calls, p.Step)
		}
		f.steps[p.Step] = true
		return f.walk()
	case events.WorkflowEnded:
		return f.end(p)
	}
	return nil
}

// step returns a step of the record.
func (f *subscription) step(name string) (doc.FlowStep, bool) {
	for _, s := range f.record.Steps {
		if s.Step == name {
			return s, true
		}
	}
	return doc.FlowStep{}, false
}

// startRound sends the start of a round.
func (f *subscription) startRound(round int) error {
	v, err := f.view(round)
	if err != nil {
		return err
	}
	f.round = round
	f.say(f.server.memory.asked(f.run, round), "strategy_started", strategyStarted{f.run, v.name, v.keys, v.flow})
	return f.walk()
}

// policyChanged sends the new rules of a run or of one of its agents.
func (f *subscription) policyChanged(payload []byte) {
	var change policy.ChangeEvent
	if json.Unmarshal(payload, &change) == nil {
		f.say(nil, "policy_updated", policyUpdated{f.run, "*", namesOf(change.After.Rules)})
	}
}
