package hub

// Picking a worker before its session is ordered, because the command line depends on the
// worker's program. Job runners need this.

import (
	"context"
	"encoding/json"
	"time"

	"ac/fleet"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/provider"
)

const (
	// judgeWithin is how long a worker may take to judge a program. It is shorter than the 30 s
	// within which the worker must reply.
	judgeWithin = 28 * time.Second
	// pickRetry is the pause after a worker did not reply.
	pickRetry = 200 * time.Millisecond
)

// pick waits for a worker for a launch and asks it to judge the program. It holds the slot until
// unhold.
func (h *Hub) pick(ctx context.Context, p fleet.PickRequest) (result fleet.PickResult, err error) {
	if issues := p.Placement.CheckFields(); len(issues) > 0 {
		return result, fault.Invalid(issues...)
	}
	machine, err := h.w.Machine()
	if err != nil {
		return result, err
	}
	policy := provider.PolicyOf(machine, p.Order.Provider)
	probe := fleet.Probe{Provider: p.Order.Provider, Words: p.Words, Policy: &policy, SecretRefs: p.Placement.SecretRefs}
	waited, wait := clock.Stopwatch(), time.Duration(p.Placement.Wait())*time.Second
	for {
		placed := p.Placement
		placed.WaitS = new(int64(max(wait-waited(), 0) / time.Second))
		out, err := h.awaitWorker(ctx, fleet.PlaceRequest{Order: p.Order, Placement: placed, Priority: p.Priority})
		if err != nil || out.worker == nil {
			return fleet.PickResult{Local: err == nil}, err
		}
		result, err = h.judgeProgram(ctx, out, probe)
		if err == nil {
			return result, nil
		}
		h.releaseSlot(out)
		if ctx.Err() != nil || waited() > wait || (!fault.Is(err, fleet.WorkerUnreachable) && !fault.Is(err, fleet.CarrierUnavailable)) {
			return result, err
		}
		select {
		case <-time.After(pickRetry):
		case <-ctx.Done():
			return result, context.Cause(ctx)
		}
	}
}

// judgeProgram asks the picked worker to judge the program, and holds its slot.
func (h *Hub) judgeProgram(ctx context.Context, out outcome, probe fleet.Probe) (result fleet.PickResult, err error) {
	h.mu.Lock()
	result.WorkerID, result.WorkerName = out.worker.record.ID, out.worker.record.Name
	h.mu.Unlock()
	text, err := h.probeWorker(ctx, result.WorkerID, probe, judgeWithin)
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal(text, &result.Program); err != nil {
		return result, fault.New(fleet.Incompatible, "the answer of worker %s is not understood: %w", result.WorkerName, err)
	}
	if result.Program.Verdict == nil {
		return result, fault.New(fleet.Incompatible, "worker %s judges no programs: its ac-hub is older", result.WorkerName)
	}
	result.Hold = h.w.Env.IDs.Hex(8)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds[result.Hold] = out
	return result, nil
}

// consumeHold consumes a hold and returns its slot. ok is false if the hold is unknown. It is also
// false, and the hold remains, if the worker is offline or not active.
func (h *Hub) consumeHold(id string) (out outcome, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if out, ok = h.holds[id]; ok && (!h.online(out.worker) || out.worker.record.State != fleet.WorkerActive) {
		return outcome{}, false
	}
	delete(h.holds, id)
	return out, ok
}

// releaseHold releases a slot that was not used.
func (h *Hub) releaseHold(id string) {
	h.mu.Lock()
	out, ok := h.holds[id]
	delete(h.holds, id)
	h.mu.Unlock()
	if ok {
		h.releaseSlot(out)
	}
}
