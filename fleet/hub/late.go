package hub

// Late results: those that arrive after the end of the run.

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/internal/fault"
	"ac/workspace"
)

// errAwaited reports that a parcel did not arrive in time, but may arrive later.
var errAwaited = errors.New("it is unpacked when it comes")

// lateWithin is the timeout of one try to collect a late parcel. The worker asks again after it.
const lateWithin = 2 * time.Minute

// keepAwaited records the results that are still missing. It is durable on return.
func (l *launch) keepAwaited(missing fleet.Results) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if missing == (fleet.Results{}) {
		if l.record.Awaited == nil {
			return nil
		}
		return l.set(func(r *fleet.AttemptRecord) { r.Awaited = nil }) // they arrived after all
	}
	order, err := json.Marshal(launchState{l.order, l.placement, l.priority, l.only, l.tried, l.base, l.actors})
	if err != nil {
		return err
	}
	return l.set(func(r *fleet.AttemptRecord) { r.Awaited = &fleet.AwaitedResults{Results: missing, Order: order} })
}

// awaits reports whether an attempt that is over still lacks an object.
func awaits(r *fleet.AttemptRecord, name string) bool {
	if r.Awaited == nil || slices.Contains(r.Taken, name) {
		return false
	}
	m := r.Awaited.Results
	return m.Outputs != nil && m.Outputs.Name == name || m.Worktree != nil && m.Worktree.Name == name
}

// lateObject replies whether an object of a finished attempt may be removed. If the object is
// still awaited, lateObject collects it in the background, and the worker asks again.
func (h *Hub) lateObject(id string, p fleet.ObjectAsk) fleet.ObjectReply {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.past[p.Attempt]
	if r == nil || r.WorkerID != id || !awaits(r, p.Name) {
		return fleet.ObjectReply{Taken: true}
	}
	if record := *r; !h.taking[p.Attempt] && h.ctx.Err() == nil {
		h.taking[p.Attempt] = true
		h.wg.Go(func() { h.takeLate(record) })
	}
	return fleet.ObjectReply{}
}

// takeLate collects the results that arrived after the end of an attempt.
func (h *Hub) takeLate(record fleet.AttemptRecord) {
	l, err := h.lateLaunch(record)
	if err == nil {
		ctx, cancel := context.WithTimeout(h.ctx, lateWithin)
		h.takeAwaited(ctx, l)
		cancel()
		err = l.log.Close()
		record = l.record
	}
	if err != nil {
		h.o.Log.Warn("late results cannot be taken", "run", record.RunID, "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past[record.Attempt] = &record
	delete(h.taking, record.Attempt)
}

// lateLaunch returns a launch for a finished attempt, to collect its late results.
func (h *Hub) lateLaunch(record fleet.AttemptRecord) (*launch, error) {
	var k launchState
	if err := json.Unmarshal(record.Awaited.Order, &k); err != nil {
		return nil, fault.New(fault.InvalidFile, "the order of attempt %s: %w", record.Attempt, err)
	}
	l := h.newLaunch(k.Order, k.Placement, k.Priority, place{record.Attempt, record.WorkerID, "", record.Epoch})
	l.record, l.base, l.over = record, k.Base, true
	return l, nil
}

// takeAwaited collects the awaited parcels of an attempt.
func (h *Hub) takeAwaited(ctx context.Context, l *launch) {
	missing := l.record.Awaited.Results
	take := func(what string, o fleet.Object, use func(*os.File, *resultsPayload) error) {
		if slices.Contains(l.record.Taken, o.Name) {
			return
		}
		payload := resultsPayload{WorkerID: l.at.worker, Epoch: l.at.epoch}
		err := h.parcel(ctx, l, o, func(file *os.File) error { return use(file, &payload) })
		switch {
		case err == nil:
			err = l.takenObject(h.ctx, o.Name, events.WorkerResults, payload)
		case ctx.Err() != nil, errors.Is(err, errAwaited):
			return // the worker asks again
		default: // a retry would fail again
			err = l.takenObject(h.ctx, o.Name, events.WorkerResultsFailed, resultsFailedPayload{l.at.worker, l.at.epoch, what, err.Error()})
		}
		if err != nil && h.ctx.Err() == nil {
			h.setFault(err)
		}
	}
	if missing.Outputs != nil {
		take("outputs", *missing.Outputs, func(file *os.File, p *resultsPayload) error { return h.unpack(l, file, p) })
	}
	if missing.Worktree != nil {
		take("worktree", missing.Worktree.Object, func(file *os.File, p *resultsPayload) error { return h.fetch(ctx, l, file, p) })
	}
}

// takenObject records atomically that a late object was handled, and what became of it. If the
// hub dies before, the next hub collects the object again.
func (l *launch) takenObject(ctx context.Context, name, kind string, payload any) error {
	draft, err := l.draft(l.h.w.Events, kind, payload)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	record, err := l.fullRecord()
	if err != nil {
		return err
	}
	record.Taken = append(slices.Clone(record.Taken), name)
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	err = l.h.w.Update(ctx, func(u *workspace.Unit) error {
		u.Append(l.name, draft)
		return u.Write(fleet.AttemptFile(record.Attempt), text, 0o600)
	})
	if err == nil {
		l.record.Taken = record.Taken
	}
	return err
}
