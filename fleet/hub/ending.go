package hub

// The end of a session. The hub first collects the results, then closes the run's record and log.
// After that the worker may delete the session.

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/internal/fault"
	"ac/runs/session/supervisor"
	"ac/workspace/doc"
)

// acceptEnd accepts the end that a worker reports, once all its drafts are sealed. The end is durable
// on return. The caller must hold the launch's lock.
func (l *launch) acceptEnd(body []byte) error {
	if l.ending || l.over {
		return nil
	}
	before := l.record
	l.record.State, l.record.End = fleet.AttemptOver, slices.Clone(body)
	l.record.Checkpoint.N, l.record.Checkpoint.LastMS = l.sealing.sealed, l.last
	if offset, err := l.h.sizeOf(l.name); err == nil {
		l.record.Checkpoint.Offset = offset
	}
	if err := l.save(); err != nil {
		l.record = before
		l.h.setFault(err)
		return err
	}
	l.ending = true
	l.h.wg.Go(func() { l.h.finish(l) })
	return nil
}

// closingKind reports whether a worker's end may contain a closing event of this kind.
func closingKind(kind string) bool {
	return slices.ContainsFunc([]string{"usage.", "context.", "interaction.", "run.steer_"}, func(p string) bool { return strings.HasPrefix(kind, p) }) ||
		kind == events.TurnEnded
}

// finish collects the results of a session and records its end.
func (h *Hub) finish(l *launch) {
	l.mu.Lock()
	var end fleet.End
	err := json.Unmarshal(l.record.End, &end)
	l.mu.Unlock()
	if err != nil {
		h.o.Log.Error("the end of a session cannot be read", "run", l.order.RunID, "error", err)
		return
	}
	var results []events.Draft
	if end.Results != nil {
		results = h.takeResults(h.ctx, l, *end.Results)
	}
	if h.ctx.Err() != nil {
		return // the next hub continues
	}
	final := l.endOf(end)
	final.Before = append(final.Before, results...)
	h.conclude(l, final, fleet.AttemptDone)
}

// endOf converts an end for the run's log. It drops what a worker may not decide.
func (l *launch) endOf(end fleet.End) supervisor.RemoteEnd {
	l.mu.Lock()
	defer l.mu.Unlock()
	offset := l.h.offsetOf(l.at.worker)
	out := supervisor.RemoteEnd{
		Status: end.Status, ExitCode: end.ExitCode, Signal: end.Signal, Stopped: end.Stopped, Orphaned: end.Orphaned, Error: end.Error,
		ErrorKind: end.ErrorKind, RetryAfterMS: end.RetryAfterMS, Reason: end.Reason, Usage: end.Usage, Cycles: end.ContextCycles, Live: end.Live,
		Conversation: end.Conversation, Reach: doc.ReachOK,
	}
	if !doc.Terminal(out.Status) {
		out.Status, out.Error = doc.StatusFailed, "the worker reported an end of status "+clip(end.Status)
	}
	out.SetCompletion(end.Last)
	for _, d := range end.Closing {
		if !closingKind(d.Type) || l.sealing.consumeFound(d.ID) {
			continue
		}
		if draft, why := l.convertDraft(d, offset); why == "" {
			out.Before = append(out.Before, draft)
		}
	}
	return out
}

// retryEnd is the pause before retrying to record an end, for example on a full disk.
const retryEnd = time.Second

// conclude records the end of a session and sets the state of its attempt. It retries until that
// succeeds or the hub closes.
func (h *Hub) conclude(l *launch, end supervisor.RemoteEnd, state string) {
	l.mu.Lock()
	remote := l.remote
	l.mu.Unlock()
	if remote == nil {
		return // the hub is closing
	}
	for {
		err := remote.End(h.ctx, end)
		if err == nil {
			break
		}
		h.o.Log.Error("the end of a session cannot be recorded", "run", l.order.RunID, "error", err)
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(retryEnd):
		}
	}
	l.mu.Lock()
	l.over = true
	l.record.State, l.record.DoneAtMS, l.record.End = state, h.now(), nil
	if err := l.save(); err != nil {
		h.o.Log.Warn("the attempt could not be closed", "attempt", l.id(), "error", err) // best effort: the next hub finds the end recorded
	}
	l.markReady()
	for n := range l.waiters {
		close(n)
		delete(l.waiters, n)
	}
	attempt, worker := l.id(), l.at.worker
	l.mu.Unlock()
	h.unregister(l)
	if err := l.close(); err != nil {
		h.o.Log.Warn("a session could not be let go", "run", l.order.RunID, "error", err)
	}
	if state == fleet.AttemptDone {
		h.notify(worker, fleet.TellSealed, fleet.Sealed{Settled: []string{attempt}})
	}
	h.wakeTick()
}

// fence says which attempt is fenced and why; by is the actor who asked for it, if any, and note
// the reason that the actor gave.
type fence struct{ attempt, reason, by, note string }

// fencedLease is a reason for a fence, in addition to fleet.WhyRevoked and fleet.FencedAbandoned.
const fencedLease = "lease_over"

// workerLost is the reason of a session whose worker was given up.
const workerLost = "worker_lost"

// fence invalidates an attempt for good, durably. On return its session has ended. It is a no-op
// if the session has another attempt by now.
func (h *Hub) fence(ctx context.Context, l *launch, why fence) error {
	l.mu.Lock()
	if !l.live() || l.id() != why.attempt {
		l.mu.Unlock()
		return nil
	}
	if err := l.set(func(r *fleet.AttemptRecord) { r.FencedFor = why.reason }); err != nil {
		l.mu.Unlock()
		return err
	}
	l.ending = true
	attempt, worker := l.id(), l.at.worker
	payload := fleet.FencedPayload{WorkerID: worker, Epoch: l.at.epoch, Reason: why.reason, By: why.by, Sealed: l.sealing.sealed, Note: why.note}
	err := l.appendEvent(ctx, events.WorkerFenced, payload)
	l.mu.Unlock()
	if err != nil {
		h.o.Log.Warn("a fence could not be told", "attempt", attempt, "error", err)
	}
	if err := h.carrier.DeleteOrder(ctx, worker, attempt); err != nil {
		h.o.Log.Warn("the order could not be taken back", "attempt", attempt, "error", err) // a claim would be refused
	}
	h.conclude(l, l.lostEnd(), fleet.AttemptFenced)
	h.notify(worker, fleet.TellFence, fleet.Fence{Attempt: attempt, Reason: why.reason})
	return nil
}

// lostEnd returns the end of a session whose attempt was fenced.
func (l *launch) lostEnd() supervisor.RemoteEnd {
	return supervisor.RemoteEnd{
		Status: doc.StatusFailed, Orphaned: true, Reason: workerLost, Lost: true, Reach: doc.ReachLost,
		Error: "worker " + l.at.name + " was given up (" + l.record.FencedFor + ")",
	}
}

// abandon fences the attempt of a session whose worker is unreachable.
func (h *Hub) abandon(ctx context.Context, p fleet.AbandonRequest) error {
	for _, l := range h.all() {
		if l.order.SessionRef != p.SessionRef {
			continue
		}
		l.mu.Lock()
		reach, live, attempt := l.reach, l.live(), l.id()
		l.mu.Unlock()
		if live && reach != doc.ReachUnreachable {
			return fault.New(fault.Conflict, "the worker of session %s can be reached; stop the session instead", p.SessionRef)
		}
		return h.fence(ctx, l, fence{attempt: attempt, reason: fleet.FencedAbandoned, by: p.By, note: p.Reason})
	}
	return fault.New(fault.Conflict, "session %s is none that a worker executes now", p.SessionRef)
}

// isSettled reports whether the end of an attempt is recorded.
func isSettled(r *fleet.AttemptRecord) bool { return r != nil && r.State == fleet.AttemptDone }
