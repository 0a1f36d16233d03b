package hub

// Claims. The hub grants the right to start an attempt once. This file also handles attempts that
// a worker gives up before they start.

import (
	"context"
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
		if h.giveUp(ctx, id, p.Attempt, reason); h.waits(id, p.Attempt) {
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
	return l.tell(ctx, events.WorkerClaimed, payload)
}

// giveUp withdraws an attempt that never started, and places the session again.
func (h *Hub) giveUp(ctx context.Context, id, attempt, reason string) {
	if !h.waits(id, attempt) {
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
	h.used(id, false)
	h.withdraw(ctx, l, attempt, reason)
}

// waits reports whether an attempt that was given up is still the session's current one. Its
// worker forgets it only once the next placement is durable.
func (h *Hub) waits(id, attempt string) bool {
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

// replaceLater waits for a worker for a session that was claimed and never started. The worker
// that gave it up does not count as back until its hello was answered. Others may be away just as
// briefly. If none is available within ClaimWithinMS, replaceLater ends the session.
func (h *Hub) replaceLater(l *launch, attempt, reason string) {
	elapsed := clock.Stopwatch()
	patience := time.Duration(h.settingsNow().ClaimWithinMS) * time.Millisecond
	for {
		select {
		case <-h.ctx.Done():
			return // the worker repeats it to the next hub
		case <-time.After(replaceRetry):
		}
		l.mu.Lock()
		due, stopped := l.id() == attempt && l.live(), l.record.Stop
		l.mu.Unlock()
		if !due {
			return
		}
		if stopped {
			h.endUnstarted(l, nil)
			return
		}
		next := h.pickAgain(l)
		if next == nil && elapsed() < patience {
			continue
		}
		if next == nil {
			h.endUnstarted(l, fault.New(fleet.NoWorker, "no worker started the session"))
			return
		}
		l.mu.Lock()
		l.replacing = false
		l.mu.Unlock()
		if err := h.placeAgain(h.ctx, l, next, reason); err != nil {
			h.o.Log.Error("the session could not be placed anew", "run", l.order.RunID, "error", err)
			return
		}
		h.send(l)
		return
	}
}

// maxAttempts is how many times a session may be placed.
const maxAttempts = 3

// withdraw revokes an attempt of a launch and places the session again with the next epoch.
func (h *Hub) withdraw(ctx context.Context, l *launch, attempt, reason string) {
	l.mu.Lock()
	if l.id() != attempt || !l.live() || l.replacing {
		l.mu.Unlock()
		return
	}
	l.tried = append(l.tried, l.at.worker)
	worker, tried := l.at.worker, len(l.tried)
	l.mu.Unlock()
	if err := h.road.DeleteOrder(ctx, worker, attempt); err != nil {
		h.o.Log.Warn("the order could not be taken back", "attempt", attempt, "error", err) // a claim would be refused
	}
	var next *nextWorker
	if tried < maxAttempts {
		next = h.pickAgain(l)
	}
	if next == nil && tried < maxAttempts && reason == withdrawnNeverStarted {
		l.mu.Lock()
		l.replacing = true
		l.mu.Unlock()
		h.wg.Go(func() { h.replaceLater(l, attempt, reason) })
		return
	}
	if next == nil {
		h.endUnstarted(l, fault.New(fleet.NoWorker, "no worker started the session"))
		return
	}
	if err := h.placeAgain(ctx, l, next, reason); err != nil {
		h.o.Log.Error("the session could not be placed anew", "run", l.order.RunID, "error", err)
		return
	}
	h.wg.Go(func() { h.send(l) })
}

// pickAgain picks a worker for a withdrawn launch and reserves a slot there. It frees the
// launch's previous slot first. It returns nil if no worker fits.
func (h *Hub) pickAgain(l *launch) *nextWorker {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.workers[l.at.worker]; w != nil {
		delete(w.launches, l)
	}
	wanted := h.waitsAgain(l)
	picked, ok := placement.Pick(h.views(), wanted, h.now())
	if !ok {
		return nil
	}
	w := h.workers[picked.ID]
	w.launches[l], w.placedMS = true, h.now()
	return &nextWorker{id: picked.ID, name: picked.Name}
}

// nextWorker identifies a picked worker without the hub's lock.
type nextWorker struct{ id, name string }

// placeAgain places the session on another worker with the next epoch. The record of the new
// attempt is durable first; then the previous attempt is fenced.
func (h *Hub) placeAgain(ctx context.Context, l *launch, next *nextWorker, reason string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.record
	before.State, before.DoneAtMS, before.FencedFor, before.Order = fleet.AttemptFenced, h.now(), reason, nil
	old := l.at
	at := place{fleet.Attempt(l.order.ProjectID, l.order.RunID, l.order.SessionRef, old.epoch+1), next.id, next.name, old.epoch + 1}
	l.record = fleet.AttemptRecord{
		Attempt: at.attempt, ProjectID: before.ProjectID, RunID: before.RunID, SessionRef: before.SessionRef, Epoch: at.epoch, WorkerID: at.worker,
		State: fleet.AttemptPlaced, LeaseS: before.LeaseS, OnCutOff: before.OnCutOff, PlacedAtMS: h.now(), Checkpoint: before.Checkpoint,
	}
	l.record.Checkpoint.N = 0
	if err := l.save(); err != nil {
		l.record = before
		return err
	}
	_ = fleet.WriteAttempt(h.w, before) // best effort: the next hub fences it because a newer attempt exists
	h.mu.Lock()
	delete(h.launches, old.attempt)
	h.past[old.attempt], h.lateOf[old.attempt] = &before, l.late
	l.at = at
	h.launches[at.attempt] = l
	h.mu.Unlock()
	l.body, l.sent, l.since, l.reach, l.sealing = nil, false, h.o.Elapsed(), doc.ReachPlacing, sealing{}
	l.late = &lateness{}
	return l.tellAgain(ctx, old, reason)
}

// tellAgain records the new placement in the log. The caller must hold the launch's lock.
func (l *launch) tellAgain(ctx context.Context, old place, reason string) error {
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
	if err := h.road.DeleteOrder(h.ctx, worker, attempt); err != nil && h.ctx.Err() == nil {
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
