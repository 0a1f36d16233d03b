package hub

// The relay. It forwards requests on a session's socket to the worker, and replies once the
// resulting drafts are sealed.

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"ac/fleet"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/session/supervisor"
	"ac/workspace/doc"
)

// tellWithin is the timeout of a verb, including the time until the resulting drafts are sealed.
const tellWithin = 8 * time.Second

// stopTellWithin is the timeout of sending a stop. Beats repeat it.
const stopTellWithin = 5 * time.Second

// host returns the session's placement and the hub's handlers for it.
func (l *launch) host() supervisor.RemoteHost {
	return supervisor.RemoteHost{WorkerID: l.at.worker, Epoch: l.at.epoch, Verb: l.verb, Stop: l.stop}
}

// verb executes a verb of the session's socket on the worker.
func (l *launch) verb(ctx context.Context, verb string, params json.RawMessage) (json.RawMessage, error) {
	l.mu.Lock()
	at, reach := l.at, l.reach
	err := l.recordActor(params)
	l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if reach != doc.ReachOK {
		return nil, l.h.unreachableError(at)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tellWithin, fault.New(fault.SupervisorUnreachable, "worker %s has not answered in time; try again", at.name))
	defer cancel()
	reply, err := l.h.tell(ctx, at.worker, at.attempt, verb, params)
	if err != nil {
		return nil, err
	}
	if err := l.awaitSealed(ctx, at.attempt, reply.N); err != nil {
		return nil, err
	}
	return reply.Result, nil
}

// recordActor durably records the actor of a request, since later events on the worker may have
// that actor. The caller must hold the launch's lock.
func (l *launch) recordActor(params json.RawMessage) error {
	var said struct {
		Actor string `json:"actor_id"`
	}
	_ = json.Unmarshal(params, &said) // params that do not parse name no actor
	if said.Actor == "" || l.isKnownActor(said.Actor) || l.over {
		return nil
	}
	l.actors = append(slices.Clone(l.actors), said.Actor)
	return l.save()
}

// awaitSealed waits until draft n of the attempt is sealed. It also returns once the session is over or
// has another attempt.
func (l *launch) awaitSealed(ctx context.Context, attempt string, n int64) error {
	l.mu.Lock()
	if l.sealing.sealed >= n || l.over || l.id() != attempt {
		l.mu.Unlock()
		return nil
	}
	sealed := make(chan struct{})
	l.waiters[sealed] = n
	l.mu.Unlock()
	select {
	case <-sealed:
		return nil
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiters, sealed)
		return context.Cause(ctx)
	}
}

// timeResolved is the member of a reply with a time of the worker's clock.
const timeResolved = "resolved_at"

// tell sends a worker a message about an attempt and returns the reply.
func (h *Hub) tell(ctx context.Context, worker, attempt, verb string, params json.RawMessage) (reply fleet.TellReply, err error) {
	h.mu.Lock()
	w := h.workers[worker]
	key, offset := "", int64(0)
	if w != nil {
		key, offset = w.record.PublicKey, w.offset
	}
	h.mu.Unlock()
	seq := h.tells.Add(1)
	body, err := json.Marshal(fleet.Tell{Stamp: fleet.Stamp{Boot: h.boot, Seq: seq}, Params: params})
	if err != nil {
		return reply, err
	}
	text, err := h.carrier.Tell(ctx, worker, key, attempt, verb, body)
	if err != nil {
		if ctx.Err() != nil {
			return reply, context.Cause(ctx)
		}
		return reply, err
	}
	if err := json.Unmarshal(text, &reply); err != nil || reply.Seq != seq {
		return reply, fault.New(fleet.WorkerUnreachable, "the worker's answer is not understood")
	}
	reply.Result, reply.Data = clock.ShiftTimes(reply.Result, offset, timeResolved), clock.ShiftTimes(reply.Data, offset, timeResolved)
	return reply, reply.Err()
}

// unreachableData is the data of worker_unreachable.
type unreachableData struct {
	WorkerID string `json:"worker_id"`
	Since    string `json:"since,omitempty"`
}

// unreachableError returns the refusal of a request whose worker is unreachable.
func (h *Hub) unreachableError(at place) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	data := unreachableData{WorkerID: at.worker}
	if w := h.workers[at.worker]; w != nil && w.seen >= 0 {
		data.Since = clock.Stamp(h.w.Env.Clock.Now().Add(w.seen - h.o.Elapsed()))
	}
	since := ""
	if data.Since != "" {
		since = " since " + data.Since
	}
	return fault.New(fleet.WorkerUnreachable, "worker %s cannot be reached%s", at.name, since).With(data)
}

// stop requests the stop of a session and returns at once. The hub records the request and sends
// it to the worker, now and with each beat until the end.
func (l *launch) stop(bool) (note string) {
	h := l.h
	h.mu.Lock()
	away := true
	since, name := "", l.at.name
	if w := h.workers[l.at.worker]; w != nil {
		away = !h.online(w)
		if w.seen >= 0 {
			since = " since " + clock.Stamp(h.w.Env.Clock.Now().Add(w.seen-h.o.Elapsed()))
		}
	}
	h.mu.Unlock()
	h.wg.Go(func() { h.sendStop(l) })
	if away {
		return "worker " + name + " cannot be reached" + since + "; it is told when it is back"
	}
	return ""
}

// sendStop records the stop and sends it to the worker.
func (h *Hub) sendStop(l *launch) {
	l.mu.Lock()
	if !l.live() {
		l.mu.Unlock()
		return
	}
	if err := l.set(func(r *fleet.AttemptRecord) { r.Stop = true }); err != nil {
		h.setFault(err) // the stop marker also records it
	}
	at, placed := l.at, l.record.State == fleet.AttemptPlaced
	l.mu.Unlock()
	if placed {
		h.endUnstarted(l, nil)
		return
	}
	ctx, cancel := context.WithTimeout(h.ctx, stopTellWithin)
	defer cancel()
	if _, err := h.tell(ctx, at.worker, at.attempt, fleet.TellStop, nil); err != nil {
		h.o.Log.Info("a stop could not be told yet", "attempt", at.attempt, "error", err) // the next beat repeats it
	}
}
