package worker

// Starting a session: claim, preparation, start, and giving up before the start.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"ac/fleet"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
)

// takeOrders accepts orders while there are free slots.
func (w *Worker) takeOrders(ctx context.Context) {
	for ctx.Err() == nil {
		if !w.hasRoom() {
			select {
			case <-ctx.Done():
			case <-w.changed:
			case <-time.After(time.Second): // the disk may have room by then
			}
			continue
		}
		message, err := w.carrier.NextOrder(ctx)
		if err != nil {
			sleep(ctx, firstPause)
			continue
		}
		w.acceptOrder(ctx, message)
	}
}

// hasRoom reports whether the worker accepts another order.
func (w *Worker) hasRoom() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.greeted && !w.drained && !w.leaving && !w.lowDisk && w.freeSlots() > 0
}

// freeSlots returns the number of free slots. The caller must hold the worker's lock.
func (w *Worker) freeSlots() int {
	free := w.slots
	for _, a := range w.attempts {
		if a.live() {
			free--
		}
	}
	return max(free, 0)
}

// acceptOrder creates an attempt for an order, or answers for an existing one.
func (w *Worker) acceptOrder(ctx context.Context, message fleet.OrderMessage) {
	if known := w.find(message.Attempt); known != nil {
		known.redelivered(ctx, message)
		return
	}
	if w.full() { // no slot any more
		_ = message.Later() // best effort: it is redelivered anyway
		return
	}
	var order fleet.Order
	err := json.Unmarshal(message.Body, &order)
	if err == nil {
		err = w.checkOrder(order, message.Attempt)
	}
	if err != nil {
		w.refuse(ctx, message, err)
		return
	}
	if w.hasLiveAttempt(order) {
		_ = message.Later() // best effort: it is redelivered anyway
		return
	}
	r := record{
		Attempt: message.Attempt, State: stateTaken, Order: order, Taken: w.spool.Env.Clock.Now().UnixMilli(),
		LeaseS: order.LeaseS, OnCutOff: order.OnCutOff, HeardAt: w.host.Elapsed().Milliseconds(),
	}
	if err := w.folder.writeRecord(r, false); err != nil {
		w.host.Log.Warn("an order cannot be recorded", "attempt", r.Attempt, "error", err)
		_ = message.Later() // best effort: it is redelivered anyway
		return
	}
	a := newAttempt(w, r)
	a.message = &message
	w.mu.Lock()
	w.attempts[a.id] = a
	w.mu.Unlock()
	w.work.Go(func() { a.run(ctx) })
}

// hasLiveAttempt reports whether another attempt of the same session is still live here, such as one that
// waits for the reply to its GiveUp. Two attempts would mistake each other's session for their
// own.
func (w *Worker) hasLiveAttempt(order fleet.Order) bool {
	return slices.ContainsFunc(w.all(), func(a *attempt) bool { return a.ordered.SessionRef == order.SessionRef && a.live() })
}

func (w *Worker) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leaving || w.drained || w.lowDisk || w.freeSlots() == 0
}

// errVersion refuses an order that this program does not understand.
var errVersion = errors.New(fleet.WhyOrder)

// checkOrder refuses an invalid order. The hub signed it, but its names become paths here.
func (w *Worker) checkOrder(order fleet.Order, attempt string) error {
	if !order.Known(w.host.Speaks.Orders) {
		return errVersion
	}
	if order.HubID != w.folder.Config.HubID || order.Attempt != attempt || fleet.Attempt(order.ProjectID, order.RunID, order.SessionRef, order.Epoch) != attempt {
		return errors.New("the order is of another attempt")
	}
	for _, id := range []string{order.ProjectID, order.RunID} {
		if !workspace.SafeID(id) {
			return fmt.Errorf("%q cannot be a path", id)
		}
	}
	if why := session.CheckRef(order.SessionRef); why != "" {
		return fmt.Errorf("session_ref %s", why)
	}
	if order.TaskID != "" && !workspace.SafeID(order.TaskID) {
		return fmt.Errorf("%q cannot be a path", order.TaskID)
	}
	for _, file := range order.Files {
		if err := checkFile(file); err != nil {
			return err
		}
	}
	return nil
}

// refuse reports to the hub that this worker does not execute an order.
func (w *Worker) refuse(ctx context.Context, message fleet.OrderMessage, why error) {
	w.host.Log.Warn("an order is refused", "attempt", message.Attempt, "error", why)
	give := fleet.GiveUp{Claim: fleet.Claim{Attempt: message.Attempt, Epoch: fleet.Epoch(message.Attempt), Instance: w.folder.Instance}, NeverStarted: true, Why: why.Error()}
	if errors.Is(why, errVersion) {
		give.Refused = fleet.WhyOrder
	}
	var reply fleet.ClaimReply
	if err := w.ask(ctx, fleet.AskClaim, &give.Stamp, &give, &reply); err != nil && reply.Answer != fleet.Refused {
		_ = message.Later() // best effort: it is redelivered anyway
		return
	}
	_ = message.Ack(ctx) // best effort: it is redelivered anyway
}

// redelivered handles another delivery of a known order.
func (a *attempt) redelivered(ctx context.Context, message fleet.OrderMessage) {
	a.mu.Lock()
	waits := a.record.State == stateTaken && !a.answered
	if waits {
		a.message = &message
	}
	a.mu.Unlock()
	if !waits {
		_ = message.Ack(ctx) // best effort: it is redelivered anyway
	}
}

// claim asks the hub for the right to start. A grant is durable before the order is acknowledged.
func (a *attempt) claim(ctx context.Context) error {
	if a.recovered {
		return a.giveUp(ctx, errors.New("the worker was restarted"))
	}
	claim := fleet.Claim{Attempt: a.id, Epoch: a.ordered.Epoch, Instance: a.w.folder.Instance}
	var reply fleet.ClaimReply
	sent := a.w.host.Elapsed()
	err := a.w.ask(ctx, fleet.AskClaim, &claim.Stamp, &claim, &reply)
	switch {
	case reply.Answer == fleet.Refused:
		return a.discard(ctx)
	case err != nil:
		return err
	case reply.Answer != fleet.Granted:
		return fault.New(fleet.CarrierUnavailable, "the hub's answer to a claim is not understood")
	}
	err = a.change(func(r *record) {
		r.State, r.HeardAt = stateClaimed, sent.Milliseconds()
		if reply.LeaseS > 0 {
			r.LeaseS = reply.LeaseS
		}
		if reply.OnCutOff != "" {
			r.OnCutOff = reply.OnCutOff
		}
	})
	if err == nil {
		a.acknowledge(ctx)
	}
	return err
}

// acknowledge prevents redelivery of the order.
func (a *attempt) acknowledge(ctx context.Context) {
	a.mu.Lock()
	message := a.message
	a.answered = true
	a.mu.Unlock()
	if message != nil {
		_ = message.Ack(ctx) // best effort: a redelivery is acknowledged
	}
}

// discard deletes an attempt that never started.
func (a *attempt) discard(ctx context.Context) error {
	a.acknowledge(ctx)
	if err := a.removePrepared(); err != nil {
		return err
	}
	if err := a.unrecord(); err != nil {
		return err
	}
	a.w.forget(a)
	return errGone
}

// giveUp reports to the hub that the attempt never started, and deletes it. It removes the
// session's permit first, so that the session cannot start later.
func (a *attempt) giveUp(ctx context.Context, why error) error {
	started, err := a.revoke(ctx)
	if err != nil {
		return err
	}
	if started {
		return a.change(func(r *record) { r.State = stateStarted })
	}
	give := fleet.GiveUp{
		Claim:        fleet.Claim{Attempt: a.id, Epoch: a.ordered.Epoch, Instance: a.w.folder.Instance},
		NeverStarted: true, Why: why.Error(),
	}
	var reply fleet.ClaimReply
	if err := a.w.ask(ctx, fleet.AskClaim, &give.Stamp, &give, &reply); err != nil && reply.Answer != fleet.Refused {
		return err
	}
	return a.discard(ctx)
}

// revoke removes the permit of the session. started reports that the session has already started,
// so that it cannot be given up.
func (a *attempt) revoke(ctx context.Context) (started bool, err error) {
	order := a.ordered
	if a.hasStarted() {
		return true, nil
	}
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	hold, err := session.Reserve(within, a.w.spool, order.ProjectID, order.RunID)
	if err != nil {
		if a.hasStarted() {
			return true, nil
		}
		return false, err
	}
	started = a.hasStarted()
	if !started {
		if err = a.w.spool.FS.Remove(permit(a.id)); durable.IsAbsent(err) {
			err = nil
		}
		if err == nil && a.w.spool.Exists(workspace.TempDir) {
			err = a.w.spool.FS.SyncDir(workspace.TempDir)
		}
	}
	return started, errors.Join(err, hold.Release())
}

// hasStarted reports whether the session has started, that is, whether it has a record. Preparation
// refuses a record that is older than the attempt.
func (a *attempt) hasStarted() bool {
	if a.state().State != stateStarting {
		return false
	}
	_, err := a.session()
	return !fault.Is(err, fault.NotFound)
}

// refused reports whether the error is a refusal by the hub itself.
func refused(err error) bool {
	return err != nil && !fault.Is(err, fleet.CarrierUnavailable) && fault.ReasonOf(err) != fault.Internal && !errors.Is(err, errUnconnected)
}
