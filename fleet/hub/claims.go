package hub

// Claims. The hub grants the right to start an attempt once. This file also handles attempts that
// a worker gives up before they start.

import (
	"context"
	"slices"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/fleet/placement"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/budget"
	"ac/runs/session/supervisor"
	"ac/workspace/doc"
)

type claimedPayload struct {
	WorkerID      string `json:"worker_id"`
	Epoch         int    `json:"epoch"`
	Version       string `json:"version"`
	OrderVersion  int    `json:"order_version"`
	ClockOffsetMS int64  `json:"clock_offset_ms"`
}

// claim decides a claim; a refusal has a reason. A grant is durable on return.
func (h *Hub) claim(ctx context.Context, id string, p fleet.GiveUp) (reply fleet.ClaimReply, err error) {
	if p.NeverStarted || p.Refused != "" {
		reason := withdrawnNeverStarted
		if p.Refused != "" {
			reason = withdrawnRefused
		}
		if h.giveUp(ctx, id, p.Attempt, reason); h.isCurrent(id, p.Attempt) {
			return reply, fault.New(fleet.NoWorker, "no worker takes the session yet") // the worker asks again
		}
		return fleet.ClaimReply{Answer: fleet.Refused}, nil
	}
	l := h.byAttempt(id, p.Attempt)
	if l == nil {
		return refusedClaim(h.whyPast(id, p.Attempt)), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.id() != p.Attempt || l.at.epoch != p.Epoch || l.record.FencedFor != "":
		return refusedClaim(fleet.WhyFenced), nil
	case l.withdrawn && l.record.State == fleet.AttemptPlaced:
		return refusedClaim(fleet.WhyFenced), nil // the session goes to another worker
	case !l.live() || l.record.State == fleet.AttemptOver:
		return refusedClaim(fleet.WhyOver), nil
	case l.record.State != fleet.AttemptPlaced:
		if l.record.Instance != p.Instance {
			return refusedClaim(fleet.WhyTaken), nil
		}
	case l.record.Stop:
		return refusedClaim(fleet.WhyStopped), nil
	default:
		if err := l.grant(ctx, p); err != nil {
			return reply, err
		}
	}
	return fleet.ClaimReply{Answer: fleet.Granted, LeaseS: l.record.LeaseS, OnCutOff: l.record.OnCutOff, Limits: l.remote.Allowance(h.sharing(l)), NowMS: h.now()}, nil
}

func refusedClaim(why string) fleet.ClaimReply {
	return fleet.ClaimReply{Reply: fleet.Reply{Reason: why}, Answer: fleet.Refused}
}

// whyPast returns why an attempt that is no longer active cannot be claimed.
func (h *Hub) whyPast(id, attempt string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.past[attempt]; r != nil && r.WorkerID == id && r.State == fleet.AttemptDone {
		return fleet.WhyOver
	}
	return fleet.WhyFenced
}

// grant records the claim durably. The caller must hold the launch's lock.
func (l *launch) grant(ctx context.Context, p fleet.GiveUp) error {
	if err := l.set(func(r *fleet.AttemptRecord) {
		r.State, r.ClaimedAtMS, r.Instance = fleet.AttemptClaimed, l.h.now(), p.Instance
	}); err != nil {
		return err
	}
	l.since = l.h.o.Elapsed()
	h := l.h
	h.mu.Lock()
	payload := claimedPayload{WorkerID: l.at.worker, Epoch: l.at.epoch}
	if w := h.workers[l.at.worker]; w != nil && w.hello != nil {
		payload.Version, payload.ClockOffsetMS = w.hello.Version, w.offset
		payload.OrderVersion, _ = h.orderVersion(w)
	}
	h.mu.Unlock()
	l.reach = doc.ReachOK
	l.remote.Amend(true, func(r *doc.Session) { r.Reach = doc.ReachOK })
	return l.appendEvent(ctx, events.WorkerClaimed, payload)
}

// giveUp withdraws an attempt that never started, and places the session again.
func (h *Hub) giveUp(ctx context.Context, id, attempt, reason string) {
	if !h.isCurrent(id, attempt) {
		return
	}
	l := h.byAttempt(id, attempt)
	if l == nil {
		return // it ended meanwhile
	}
	l.mu.Lock()
	stopped := l.record.Stop
	l.mu.Unlock()
	if stopped {
		h.endUnstarted(l, nil)
		return
	}
	h.withdraw(ctx, l, attempt, reason)
}

// isCurrent reports whether an attempt that was given up is still the session's current one. Its
// worker forgets it only once the next placement is durable.
func (h *Hub) isCurrent(id, attempt string) bool {
	l := h.byAttempt(id, attempt)
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id() == attempt && l.live() && (l.record.State == fleet.AttemptPlaced || l.record.State == fleet.AttemptClaimed)
}

// replaceRetry is the pause between searches for a worker for a withdrawn session.
const replaceRetry = 50 * time.Millisecond

// replaceLater places a withdrawn session once a worker is available and the placement can be
// recorded. A worker that released the session does not count as back until its hello was
// answered. Others may be away just as briefly. If none is available within ClaimWithinMS,
// replaceLater ends the session.
func (h *Hub) replaceLater(l *launch, tried []string, reason string, pause time.Duration) {
	elapsed := clock.Stopwatch()
	patience := time.Duration(h.settingsNow().ClaimWithinMS) * time.Millisecond
	for {
		select {
		case <-h.ctx.Done():
			return // the worker repeats it to the next hub
		case <-time.After(pause):
		}
		l.mu.Lock()
		live, stopped := l.live(), l.record.Stop
		l.mu.Unlock()
		if !live {
			return
		}
		if stopped {
			h.endUnstarted(l, nil)
			return
		}
		next := h.pickAgain(l, tried)
		switch {
		case next.worker == nil && elapsed() >= patience:
			h.endUnstarted(l, fault.New(fleet.NoWorker, "no worker started the session"))
			return
		case next.worker == nil:
			pause = replaceRetry
		case h.move(h.ctx, l, next, tried, reason):
			return
		default:
			pause = retryEnd
		}
	}
}

// maxAttempts is how many times a session may be placed.
const maxAttempts = 3

// withdraw revokes an attempt of a launch and places the session again with the next epoch. Only
// the first withdrawal of an attempt has an effect. It lasts until the session is placed again or
// ends, and claims of the attempt are refused from then on.
func (h *Hub) withdraw(ctx context.Context, l *launch, attempt, reason string) {
	l.mu.Lock()
	claimed := reason == withdrawnNotClaimed && l.record.State != fleet.AttemptPlaced // meanwhile
	if l.id() != attempt || !l.live() || l.withdrawn || claimed {
		l.mu.Unlock()
		return
	}
	l.withdrawn = true
	worker := l.at.worker
	tried := append(slices.Clone(l.tried), worker)
	l.mu.Unlock()
	h.countStart(worker, false)
	if err := h.carrier.DeleteOrder(ctx, worker, attempt); err != nil {
		h.o.Log.Warn("the order could not be taken back", "attempt", attempt, "error", err) // a claim would be refused
	}
	var next outcome
	if len(tried) < maxAttempts {
		next = h.pickAgain(l, tried)
	}
	switch {
	case next.worker != nil:
		if !h.move(ctx, l, next, tried, reason) {
			h.wg.Go(func() { h.replaceLater(l, tried, reason, retryEnd) })
		}
	case len(tried) < maxAttempts && reason == withdrawnNeverStarted:
		h.wg.Go(func() { h.replaceLater(l, tried, reason, replaceRetry) })
	default:
		h.endUnstarted(l, fault.New(fleet.NoWorker, "no worker started the session"))
	}
}

// pickAgain picks a worker for a withdrawn launch and reserves a slot there. It frees the
// launch's previous slot first. The outcome has no worker if none fits.
func (h *Hub) pickAgain(l *launch, tried []string) (next outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.workers[l.at.worker]; w != nil {
		delete(w.launches, l)
	}
	picked, ok := placement.Pick(h.views(), h.replacementLaunch(l, tried), h.now())
	if !ok {
		return next
	}
	next = outcome{worker: h.workers[picked.ID], slot: &launch{}}
	next.worker.launches[next.slot], next.worker.placedMS = true, h.now()
	return next
}

// move places a withdrawn session on a picked worker and sends the order. It returns false if the
// placement could not be recorded. The caller must then try again.
func (h *Hub) move(ctx context.Context, l *launch, next outcome, tried []string, reason string) (done bool) {
	placed, err := h.placeAgain(ctx, l, next, tried, reason)
	if err != nil {
		h.o.Log.Error("the session could not be placed anew", "run", l.order.RunID, "recorded", placed, "error", err)
	}
	switch {
	case placed:
		h.wg.Go(func() { h.send(l) })
	case err == nil:
		h.endUnstarted(l, nil) // it was stopped meanwhile
	default:
		return false
	}
	return true
}

// placeAgain places the session on another worker with the next epoch. The record of the new
// attempt is durable first; then the previous attempt is fenced. The reserved slot becomes the
// launch's, or is released if placed is false: after an error, or if the session was stopped or
// is ending.
func (h *Hub) placeAgain(ctx context.Context, l *launch, next outcome, tried []string, reason string) (placed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.live() || l.record.Stop {
		h.releaseSlot(next)
		return false, nil
	}
	old, before, triedBefore := l.at, l.record, l.tried
	at := h.placeOn(l, next.worker, old.epoch+1)
	l.record = fleet.AttemptRecord{
		Attempt: at.attempt, ProjectID: before.ProjectID, RunID: before.RunID, SessionRef: before.SessionRef, Epoch: at.epoch, WorkerID: at.worker,
		State: fleet.AttemptPlaced, LeaseS: before.LeaseS, OnCutOff: before.OnCutOff, PlacedAtMS: h.now(), Checkpoint: before.Checkpoint,
	}
	l.record.Checkpoint.N = 0
	l.tried = tried
	if err := l.save(); err != nil {
		l.record, l.tried = before, triedBefore
		h.releaseSlot(next)
		return false, err
	}
	before.State, before.DoneAtMS, before.FencedFor, before.Order = fleet.AttemptFenced, h.now(), reason, nil
	_ = fleet.WriteAttempt(h.w, before) // best effort: the next hub fences it because a newer attempt exists
	h.mu.Lock()
	delete(h.launches, old.attempt)
	h.past[old.attempt], h.evidenceOf[old.attempt] = &before, l.evidence
	l.at = at
	h.launches[at.attempt] = l
	delete(next.worker.launches, next.slot)
	next.worker.launches[l] = true
	h.mu.Unlock()
	l.body, l.sent, l.since, l.reach, l.sealing = nil, false, h.o.Elapsed(), doc.ReachPlacing, sealing{}
	l.evidence, l.withdrawn = &evidenceCounts{}, false
	return true, l.recordReplacement(ctx, old, reason)
}

// placeOn returns the place of a launch's attempt on a worker.
func (h *Hub) placeOn(l *launch, w *worker, epoch int) place {
	h.mu.Lock()
	defer h.mu.Unlock()
	return place{fleet.Attempt(l.order.ProjectID, l.order.RunID, l.order.SessionRef, epoch), w.record.ID, w.record.Name, epoch}
}

// recordReplacement records the new placement in the log. The caller must hold the launch's lock.
func (l *launch) recordReplacement(ctx context.Context, old place, reason string) error {
	return l.remote.PlaceAgain(ctx, l.at.worker, l.at.epoch, func(source events.Source) ([]events.Draft, error) {
		gone, err := l.draft(source, events.WorkerWithdrawn, withdrawnPayload{old.worker, old.epoch, reason})
		if err != nil {
			return nil, err
		}
		placed, err := l.placedEvents(source, l.h.now())
		return append([]events.Draft{gone}, placed...), err
	})
}

// endUnstarted ends a session that no worker started: as failed if there is a cause, otherwise as
// stopped.
func (h *Hub) endUnstarted(l *launch, cause error) {
	l.mu.Lock()
	if !l.live() {
		l.mu.Unlock()
		return
	}
	l.ending = true
	attempt, worker := l.id(), l.at.worker
	l.mu.Unlock()
	if err := h.carrier.DeleteOrder(h.ctx, worker, attempt); err != nil && h.ctx.Err() == nil {
		h.o.Log.Warn("the order could not be taken back", "attempt", attempt, "error", err) // a claim would be refused
	}
	end := supervisor.RemoteEnd{Status: doc.StatusStopped, Stopped: true}
	if cause != nil {
		end = supervisor.RemoteEnd{Status: doc.StatusFailed, Error: cause.Error(), Reason: string(fault.ReasonOf(cause))}
	}
	h.wg.Go(func() { h.conclude(l, end, fleet.AttemptDone) })
}

// sharing counts the live sessions that share the limits of a launch's project, task and workflow
// run.
func (h *Hub) sharing(l *launch) (s budget.Sharing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, other := range h.launches {
		if other.order.ProjectID != l.order.ProjectID {
			continue
		}
		s.Project++
		if other.order.TaskID == l.order.TaskID {
			s.Task++
		}
		if other.order.WorkflowRunID == l.order.WorkflowRunID {
			s.Workflow++
		}
	}
	return s
}
