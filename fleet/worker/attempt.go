package worker

// The life of an attempt on its worker, from the order to its settled end.

import (
	"context"
	"errors"
	"sync"
	"time"

	"ac/fleet"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// attempt is one attempt. Its goroutine, run, moves its state on.
type attempt struct {
	w       *Worker
	id      string
	ordered fleet.Order
	taken   time.Duration // when this process took it, by Host.Elapsed
	shipper *shipper
	// recovered: it is one of a process before this one. Where that did not start its
	// session, it is given up.
	recovered bool

	mu       sync.Mutex
	record   record
	message  *fleet.OrderMessage // that is acknowledged once the claim is durable
	answered bool                // the order was acknowledged, or is as soon as it comes
	gone     bool                // the record was removed, and is not written any more
	drop     context.CancelCauseFunc
	dropped  error // why it ends before it was started
	due      bool  // it was stopped because of its lease
	stopped  bool  // the hub asked for a stop
	wake     chan struct{}
	hinted   time.Duration // when the record was last written as a hint
	settled  chan struct{} // closed when the hub has recorded the end
}

func newAttempt(w *Worker, r record) *attempt {
	a := &attempt{w: w, id: r.Attempt, ordered: r.Order, taken: w.host.Elapsed(), record: r, wake: make(chan struct{}, 1), settled: make(chan struct{})}
	order := r.Order
	log := workspace.LogFile(order.ProjectID, order.RunID)
	a.shipper = newShipper(outlet{
		attempt: a.id, session: order.SessionRef, elapsed: w.host.Elapsed,
		log:     func() (durable.File, error) { return readLog(w.spool.FS, log) },
		publish: a.publish, put: a.putPayload, news: a.news, spec: a.spec,
	}, r.Base, r.Sealed, r.Generation+1)
	if r.State == stateSettled {
		close(a.settled)
	}
	return a
}

// poke has the attempt look again at what there is to do.
func (a *attempt) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// state is the record as it is now.
func (a *attempt) state() record {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.record
	r.Sent, r.Sealed, r.Generation = a.shipper.state()
	return r
}

// change changes the record. It is durable when change returns nil.
func (a *attempt) change(change func(*record)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := a.record
	change(&next)
	next.Sent, next.Sealed, next.Generation = a.shipper.state()
	err := a.w.folder.keep(next, false)
	if err == nil {
		a.record = next
	}
	return err
}

// hint writes the record without the wait for the disk, once a second at most.
func (a *attempt) hint() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.w.host.Elapsed()
	if a.gone || now-a.hinted < time.Second || a.record.State == stateSettled {
		return
	}
	a.hinted = now
	r := a.record
	r.Sent, r.Sealed, r.Generation = a.shipper.state()
	_ = a.w.folder.keep(r, true) // the hub says it again
}

// unrecord removes the record; it is durable when unrecord returns. No hint writes it again.
func (a *attempt) unrecord() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.w.folder.drop(a.id)
	a.gone = a.gone || err == nil
	return err
}

// run moves the attempt on until it is settled and delivered, or the context ends. Each
// step begins with what the record says, so that a restart goes on where the process
// before this one ended.
func (a *attempt) run(ctx context.Context) {
	for ctx.Err() == nil {
		var err error
		switch a.state().State {
		case stateTaken:
			err = a.claim(ctx)
		case stateClaimed, stateStarting:
			err = a.start(ctx)
		case stateStarted:
			err = a.follow(ctx)
		case stateOver:
			err = a.close(ctx)
		case stateSettled:
			err = a.deliver(ctx)
			if err == nil {
				return
			}
		default:
			err = fault.New(fault.InvalidFile, "attempt %s has the unknown state %s", a.id, a.state().State)
		}
		if errors.Is(err, errGone) {
			return
		}
		if err != nil && ctx.Err() == nil {
			a.w.host.Log.Warn("an attempt waits", "attempt", a.id, "state", a.state().State, "error", err)
			sleep(ctx, time.Second)
		}
	}
}

// errGone ends the goroutine of an attempt that was forgotten.
var errGone = errors.New("the attempt is gone")

// session reads the record of the attempt's session in the spool.
func (a *attempt) session() (doc.Session, error) {
	return session.Read(a.w.spool, a.ordered.SessionRef)
}

// follow ships what the session says until it is over.
func (a *attempt) follow(ctx context.Context) error {
	over := make(chan error, 1)
	watching, cancel := context.WithCancel(ctx)
	var collecting sync.WaitGroup
	defer collecting.Wait()
	defer cancel()
	collecting.Go(func() {
		_, err := session.Collect(watching, a.w.spool, a.ordered.SessionRef)
		over <- err
	})
	a.watchLog(watching)
	for {
		a.ship(ctx)
		a.hint()
		wait := a.shipper.overdue()
		if wait == 0 || wait > seldom {
			wait = seldom
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case err := <-over:
			timer.Stop()
			if err != nil {
				return err
			}
			return a.change(func(r *record) { r.State = stateOver })
		case <-a.wake:
			timer.Stop()
			if !sleep(ctx, gather) {
				return context.Cause(ctx)
			}
		case <-timer.C:
		}
	}
}

const (
	// gather is how long lines are gathered for a batch after the first.
	gather = 20 * time.Millisecond
	// often is how often a log is looked at whose changes cannot be watched.
	often = 200 * time.Millisecond
	// seldom is how often a log is looked at whose changes are watched: notices can be
	// lost.
	seldom = 5 * time.Second
)

// ship publishes all batches that there are. What fails is tried again by the caller's next
// round, or when the connection is back.
func (a *attempt) ship(ctx context.Context) {
	for ctx.Err() == nil {
		more, err := a.shipper.step(ctx)
		if err != nil {
			if !fault.Is(err, fleet.CarrierUnavailable) && !errors.Is(err, errUnconnected) && ctx.Err() == nil {
				a.w.host.Log.Warn("drafts cannot be shipped", "attempt", a.id, "error", err)
			}
			return
		}
		if !more {
			return
		}
	}
}

// seal takes what the hub said is sealed.
func (a *attempt) seal(n int64) {
	if a.shipper.seal(n) {
		a.poke()
	}
}

// settle takes that the hub has recorded the end.
func (a *attempt) settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.settled:
	default:
		close(a.settled)
	}
}

// isSettled reports whether the hub has recorded the end.
func (a *attempt) isSettled() bool {
	select {
	case <-a.settled:
		return true
	default:
		return false
	}
}

// awaitSealed waits until everything that the log has is sealed.
func (a *attempt) awaitSealed(ctx context.Context) {
	for ctx.Err() == nil && !a.isSettled() {
		newest, err := a.shipper.newest()
		_, sealed, _ := a.shipper.state()
		if err != nil || sealed >= newest {
			return
		}
		a.poke()
		sleep(ctx, gather)
	}
}

// live reports whether the attempt uses a slot.
func (a *attempt) live() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record.State != stateOver && a.record.State != stateSettled
}

// stop asks the session to stop, for the hub.
func (a *attempt) stop(ctx context.Context) (doc.Session, error) {
	a.mu.Lock()
	a.stopped = true
	state := a.record.State
	a.mu.Unlock()
	if state == stateTaken || state == stateClaimed {
		a.abandon(fault.New(fault.Canceled, "the session was stopped before it started"))
	}
	return session.Stop(ctx, a.w.spool, a.ordered.SessionRef)
}

// abandon ends an attempt that was not started.
func (a *attempt) abandon(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropped == nil {
		a.dropped = why
	}
	if a.drop != nil {
		a.drop(why)
	}
}

// fence takes that nothing of the attempt counts any more: its provider is killed at once.
func (a *attempt) fence(ctx context.Context) {
	if r := a.state(); !r.Fenced {
		if err := a.change(func(r *record) { r.Fenced = true }); err != nil {
			a.w.host.Log.Warn("a fenced attempt cannot be recorded", "attempt", a.id, "error", err)
		}
	}
	a.abandon(fault.New(fleet.Fenced, "the attempt was fenced"))
	switch a.state().State {
	case stateStarting, stateStarted:
		_ = session.Kill(ctx, a.w.spool, a.ordered.SessionRef) // there may be none
		_, _ = session.Stop(ctx, a.w.spool, a.ordered.SessionRef)
	}
	a.poke()
}

// stopAndWait stops the session and waits for its end.
func (a *attempt) stopAndWait(ctx context.Context) {
	if r := a.state(); r.State != stateStarted {
		return
	}
	if _, err := session.Stop(ctx, a.w.spool, a.ordered.SessionRef); err == nil {
		_, _ = session.Collect(ctx, a.w.spool, a.ordered.SessionRef) // the record has its end
	}
}
