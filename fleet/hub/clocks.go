package hub

// Timeouts: which workers were silent for too long, and the consequences.

import (
	"context"
	"encoding/json"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/workspace/doc"
)

// lookEvery is the maximum time between two checks of the timeouts.
const lookEvery = 500 * time.Millisecond

// tick checks the timeouts and the queue until the hub closes.
func (h *Hub) tick() {
	for admitted := h.o.Elapsed(); ; {
		every := min(lookEvery, h.settingsNow().Beat()/2)
		timer := time.NewTimer(every)
		select {
		case <-h.ctx.Done():
			timer.Stop()
			return
		case <-h.wake:
		case <-timer.C:
		}
		timer.Stop()
		h.mu.Lock()
		h.assign()
		if now := h.o.Elapsed(); now-admitted >= every { // drops users whose time is over
			admitted = now
			if err := h.admit(); err != nil {
				h.o.Log.Warn("the carrier keeps its users", "error", err)
			}
		}
		h.mu.Unlock()
		for _, l := range h.all() {
			h.actOnTimeouts(l)
		}
	}
}

// timeoutAction is the action that an attempt's timeouts require.
type timeoutAction int

const (
	actionNone    timeoutAction = iota
	actionPublish               // publish the order, which is not in the carrier yet
	actionWithdraw
	actionAskBack
	actionMarkUnreachable
	actionFence
)

// timeoutActionOf decides what is due for an attempt. quiet is the time since its worker was last heard
// from. since is the time since the attempt was placed, sent or claimed.
func timeoutActionOf(r fleet.AttemptRecord, s fleet.Settings, reach string, sent bool, quiet, since time.Duration) timeoutAction {
	switch {
	case r.State == fleet.AttemptPlaced && since > s.ClaimWithin():
		return actionWithdraw
	case r.State == fleet.AttemptPlaced && !sent:
		return actionPublish
	case r.State == fleet.AttemptPlaced:
		return actionNone
	case r.OnCutOff == fleet.CutOffStop && quiet >= s.FenceAfter(r.LeaseS):
		return actionFence
	case r.State == fleet.AttemptOver:
		return actionNone
	case reach == doc.ReachOK && quiet >= s.UnreachableAfter():
		return actionMarkUnreachable
	case r.State == fleet.AttemptClaimed && since > s.StartWithin() && quiet < s.UnreachableAfter():
		return actionAskBack
	}
	return actionNone
}

type unreachablePayload struct {
	WorkerID    string `json:"worker_id"`
	Epoch       int    `json:"epoch"`
	SilentMS    int64  `json:"silent_ms"`
	Sealed      int64  `json:"sealed"`
	LeaseLeftMS *int64 `json:"lease_left_ms,omitempty"`
}

type reachedPayload struct {
	WorkerID string `json:"worker_id"`
	Epoch    int    `json:"epoch"`
	AwayMS   int64  `json:"away_ms"`
	Spooled  int64  `json:"spooled"`
}

// quietFor returns how long a worker has been silent, at most since the hub started. So each
// lease restarts with the hub. The caller must hold the hub's lock.
func (h *Hub) quietFor(worker string) time.Duration {
	if w := h.workers[worker]; w != nil && w.seen >= 0 {
		return h.o.Elapsed() - w.seen
	}
	return h.o.Elapsed() - h.began
}

// actOnTimeouts does what is due for a launch.
func (h *Hub) actOnTimeouts(l *launch) {
	h.mu.Lock()
	quiet := h.quietFor(l.at.worker)
	settings := h.settings
	h.mu.Unlock()
	l.mu.Lock()
	if !l.live() {
		l.mu.Unlock()
		return
	}
	attempt := l.id()
	what := timeoutActionOf(l.record, settings, l.reach, l.sent, quiet, h.o.Elapsed()-l.since)
	if what == actionMarkUnreachable {
		l.markUnreachable(quiet, settings)
	}
	l.mu.Unlock()
	switch what {
	case actionNone, actionMarkUnreachable:
	case actionPublish:
		h.runInBackground(l, func() { h.send(l) })
	case actionWithdraw:
		h.withdraw(h.ctx, l, attempt, withdrawnNotClaimed)
	case actionAskBack:
		h.runInBackground(l, func() { h.askToGiveUp(l) })
	case actionFence:
		if err := h.fence(h.ctx, l, fence{attempt: attempt, reason: fencedLease}); err != nil {
			h.o.Log.Error("an attempt could not be fenced", "attempt", attempt, "error", err)
		}
	}
}

// markUnreachable records that the worker is unreachable. The caller must hold the launch's lock.
func (l *launch) markUnreachable(quiet time.Duration, s fleet.Settings) {
	l.reach = doc.ReachUnreachable
	since := l.h.now() - quiet.Milliseconds()
	l.remote.Amend(true, func(r *doc.Session) { r.Reach, r.UnreachableSinceMS = doc.ReachUnreachable, &since })
	payload := unreachablePayload{WorkerID: l.at.worker, Epoch: l.at.epoch, SilentMS: quiet.Milliseconds(), Sealed: l.sealing.sealed}
	if l.record.OnCutOff == fleet.CutOffStop {
		left := (s.FenceAfter(l.record.LeaseS) - quiet).Milliseconds()
		payload.LeaseLeftMS = &left
	}
	if err := l.appendEvent(l.h.ctx, events.WorkerUnreachable, payload); err != nil {
		l.h.setFault(err)
	}
}

// markReachable marks the sessions of a worker as reachable again.
func (h *Hub) markReachable(ctx context.Context, worker string) {
	for _, l := range h.all() {
		if l.workerNow() != worker {
			continue
		}
		l.mu.Lock()
		if l.reach == doc.ReachUnreachable && l.live() {
			l.markReachable(ctx)
		}
		l.mu.Unlock()
	}
}

// workerNow returns the current worker of a launch.
func (l *launch) workerNow() string {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return l.at.worker
}

// markReachable records that the worker is reachable again. The caller must hold the launch's lock.
func (l *launch) markReachable(ctx context.Context) {
	var away int64
	if since := l.remote.Snapshot().UnreachableSinceMS; since != nil {
		away = l.h.now() - *since
	}
	l.reach = doc.ReachOK
	l.remote.Amend(true, func(r *doc.Session) { r.Reach, r.UnreachableSinceMS = doc.ReachOK, nil })
	payload := reachedPayload{l.at.worker, l.at.epoch, away, max(0, l.lag.Newest-l.sealing.sealed)}
	if err := l.appendEvent(ctx, events.WorkerReached, payload); err != nil {
		l.h.setFault(err)
	}
}

// runInBackground runs do in a goroutine, unless one of the launch's earlier calls still runs.
func (h *Hub) runInBackground(l *launch, do func()) {
	if !l.busy.CompareAndSwap(false, true) {
		return
	}
	h.wg.Go(func() {
		defer l.busy.Store(false)
		do()
	})
}

// askToGiveUp asks a worker to give up an attempt that it claimed and did not start. The worker
// replies with a claim request that says whether it never started.
func (h *Hub) askToGiveUp(l *launch) {
	ctx, cancel := context.WithTimeout(h.ctx, stopTellWithin)
	defer cancel()
	l.mu.Lock()
	at := l.at
	l.since = h.o.Elapsed() // restarts the timeout
	l.mu.Unlock()
	body := fleet.Fence{Attempt: at.attempt, Reason: fleet.WhyGiveUp}
	if text, err := json.Marshal(body); err == nil {
		_, err = h.tell(ctx, at.worker, at.attempt, fleet.TellFence, text)
		if err != nil {
			h.o.Log.Info("an attempt could not be asked back yet", "attempt", at.attempt, "error", err)
		}
	}
}

// beatOf handles an attempt's part of a beat, and adds to the reply.
func (h *Hub) beatOf(id, attempt string, b fleet.BeatAttempt, reply *fleet.BeatReply) {
	l := h.byAttempt(id, attempt)
	if l == nil {
		state := h.stateOf(id, attempt)
		if state.Settled {
			reply.Settled = append(reply.Settled, attempt)
		} else {
			reply.Fenced = append(reply.Fenced, attempt)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record.FencedFor != "" {
		reply.Fenced = append(reply.Fenced, attempt)
		return
	}
	if l.over || l.remote == nil {
		return // the next beat gets the reply
	}
	l.lag.Beat(h.o.Elapsed(), b.N, l.sealing.sealed, time.Duration(b.OldestMS)*time.Millisecond)
	l.spooled = b.SpooledBytes
	reply.Lease[attempt], reply.Sealed[attempt] = l.record.LeaseS, l.sealing.sealed
	if may := l.remote.Allowance(h.sharing(l)); may != nil {
		if reply.Limits == nil {
			reply.Limits = map[string]fleet.Allowance{}
		}
		reply.Limits[attempt] = *may
	}
	if l.record.Stop {
		reply.Stop = append(reply.Stop, attempt)
	}
}

// stateOf returns the state of an attempt for a worker. An attempt that this hub does not know is
// fenced.
func (h *Hub) stateOf(id, attempt string) fleet.AttemptReply {
	if l := h.byAttempt(id, attempt); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		return fleet.AttemptReply{State: l.record.State, Sealed: l.sealing.sealed, Stop: l.record.Stop, Fenced: l.record.FencedFor != ""}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.past[attempt]
	if r == nil || r.WorkerID != id {
		return fleet.AttemptReply{State: fleet.AttemptFenced, Fenced: true}
	}
	return fleet.AttemptReply{State: r.State, Sealed: r.Checkpoint.N, Fenced: r.State == fleet.AttemptFenced, Settled: isSettled(r)}
}
