package worker

// Leases: how long a session continues without contact with the hub.

import (
	"context"
	"sync"
	"time"

	"ac/fleet"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace/doc"
)

// leaseCheckInterval is how often leases are checked. If a lease expired while the machine slept, the
// provider stops that soon after the machine wakes up.
const leaseCheckInterval = time.Second

// watchLeases stops sessions whose lease has expired.
func (w *Worker) watchLeases(ctx context.Context) {
	ticker := time.NewTicker(leaseCheckInterval)
	defer ticker.Stop()
	var stopping sync.WaitGroup
	defer stopping.Wait()
	for {
		for _, a := range w.all() {
			if a.leaseOver() {
				stopping.Go(func() { a.expire(ctx) })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// recordContact records that the hub answered a request. sent is when the worker sent it.
func (a *attempt) recordContact(sent time.Duration) {
	a.mu.Lock()
	a.record.HeardAt = max(a.record.HeardAt, sent.Milliseconds())
	a.mu.Unlock()
	a.hint()
}

// renew sets the rest of a lease, counted from when the beat was sent.
func (a *attempt) renew(sent, left time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if left > 0 {
		a.record.LeaseS = int64(left / time.Second)
		a.record.HeardAt = max(a.record.HeardAt, sent.Milliseconds())
	}
}

// leaseOver reports once that the session must be stopped because its lease has expired. If the
// machine was restarted since the last beat, the lease counts from the restart.
func (a *attempt) leaseOver() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leaseExpired || a.record.OnCutOff != fleet.CutOffStop || a.record.LeaseS <= 0 {
		return false
	}
	switch a.record.State {
	case stateClaimed, stateStarting, stateStarted:
	default:
		return false
	}
	now := a.w.host.Elapsed()
	heard := time.Duration(a.record.HeardAt) * time.Millisecond
	if heard > now {
		heard = 0
	}
	a.leaseExpired = now-heard >= time.Duration(a.record.LeaseS)*time.Second
	return a.leaseExpired
}

// expire stops the session of an attempt whose lease has expired.
func (a *attempt) expire(ctx context.Context) {
	a.abandon(fault.New(fleet.Fenced, "the lease was over before the session started"))
	if err := a.change(func(r *record) { r.Reason = reasonLease }); err != nil {
		a.w.host.Log.Warn("the end of a lease cannot be recorded", "attempt", a.id, "error", err)
	}
	for ctx.Err() == nil {
		record, err := session.Stop(ctx, a.w.spool, a.ordered.SessionRef)
		if err == nil || fault.Is(err, fault.NotFound) || doc.Terminal(record.Status) {
			return
		}
		a.w.host.Log.Warn("a session cannot be stopped at the end of its lease", "attempt", a.id, "error", err)
		sleep(ctx, firstPause)
	}
}
