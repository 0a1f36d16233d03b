package worker

// The life of an attempt on its worker, from order to settled end.

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

// attempt is one attempt. The goroutine of run advances its state.
type attempt struct {
	w       *Worker
	id      string
	ordered fleet.Order
	taken   time.Duration // when this process accepted the order, by Host.Elapsed
	shipper *shipper
	// recovered: an earlier process created the attempt. If that process did not start the
	// session, this one releases the attempt.
	recovered bool

	mu           sync.Mutex
	record       record
	message      *fleet.OrderMessage // the order, acknowledged once the claim is durable
	answered     bool                // acknowledge the order at once if it is redelivered
	gone         bool                // the record was removed and must not be written again
	cancelStart  context.CancelCauseFunc
	abandonErr   error // why the attempt ends before it started
	leaseExpired bool  // stopped because its lease expired
	stopped      bool  // the hub asked for a stop
	wake         chan struct{}
	hinted       time.Duration // when the record was last written as a hint
	settled      chan struct{} // closed when the hub has recorded the end
}

func newAttempt(w *Worker, r record) *attempt {
	a := &attempt{w: w, id: r.Attempt, ordered: r.Order, taken: w.host.Elapsed(), record: r, wake: make(chan struct{}, 1), settled: make(chan struct{})}
	order := r.Order
	log := workspace.LogFile(order.ProjectID, order.RunID)
	a.shipper = newShipper(shipperConfig{
		attempt: a.id, session: order.SessionRef, elapsed: w.host.Elapsed,
		log:     func() (durable.File, error) { return readLog(w.spool.FS, log) },
		publish: a.publish, put: a.putPayload, news: a.news, spec: a.spec,
	}, r.Base, r.Sealed, r.Generation+1)
	if r.State == stateSettled {
		close(a.settled)
	}
	return a
}

// poke wakes up run.
func (a *attempt) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// state returns a copy of the record with the shipper's current numbers.
func (a *attempt) state() record {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.record
	r.Sent, r.Sealed, r.Generation = a.shipper.state()
	return r
}

// change changes the record. The change is durable if change returns nil.
func (a *attempt) change(change func(*record)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := a.record
	change(&next)
	next.Sent, next.Sealed, next.Generation = a.shipper.state()
	err := a.w.folder.writeRecord(next, false)
	if err == nil {
		a.record = next
	}
	return err
}

// hint writes the record without waiting for the disk, at most once a second.
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
	_ = a.w.folder.writeRecord(r, true) // best effort: the hub repeats these numbers
}

// unrecord removes the record, durably on return. Later hints do not write it again.
func (a *attempt) unrecord() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.w.folder.removeRecord(a.id)
	a.gone = a.gone || err == nil
	return err
}

// run advances the attempt until it is settled and delivered, or ctx ends. Each step starts from
// the record, so a new process continues where the previous one ended.
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

// errGone ends run after the attempt was deleted.
var errGone = errors.New("the attempt is gone")

// session reads the session's record in the spool.
func (a *attempt) session() (doc.Session, error) {
	return session.Read(a.w.spool, a.ordered.SessionRef)
}

// follow ships the session's drafts until the session is over.
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
		if wait == 0 || wait > watchedPollInterval {
			wait = watchedPollInterval
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
			if !sleep(ctx, batchDelay) {
				return context.Cause(ctx)
			}
		case <-timer.C:
		}
	}
}

const (
	// batchDelay is how long to collect more lines for a batch after the first line.
	batchDelay = 20 * time.Millisecond
	// unwatchedPollInterval is the polling interval for a log that cannot be watched.
	unwatchedPollInterval = 200 * time.Millisecond
	// watchedPollInterval is the polling interval for a watched log, since notifications can be lost.
	watchedPollInterval = 5 * time.Second
)

// ship publishes all pending batches. After a failure it returns. Its caller's next round or the
// next connection retries.
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

// seal records that the hub has sealed the drafts up to n.
func (a *attempt) seal(n int64) {
	if a.shipper.seal(n) {
		a.poke()
	}
}

// settle records that the hub has recorded the end.
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

// awaitSealed waits until everything in the log is sealed.
func (a *attempt) awaitSealed(ctx context.Context) {
	for ctx.Err() == nil && !a.isSettled() {
		newest, err := a.shipper.newest()
		_, sealed, _ := a.shipper.state()
		if err != nil || sealed >= newest {
			return
		}
		a.poke()
		sleep(ctx, batchDelay)
	}
}

// live reports whether the attempt uses a slot.
func (a *attempt) live() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record.State != stateOver && a.record.State != stateSettled
}

// stop stops the session on request of the hub.
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

// abandon ends an attempt that has not started.
func (a *attempt) abandon(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.abandonErr == nil {
		a.abandonErr = why
	}
	if a.cancelStart != nil {
		a.cancelStart(why)
	}
}

// fence records that the attempt is fenced, and kills its provider at once.
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
		_, _ = session.Collect(ctx, a.w.spool, a.ordered.SessionRef) // the session's record contains its end
	}
}
