package worker

// Messages from the hub to the worker.

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"ac/fleet"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace/doc"
)

// handleTell executes a message from the hub and returns the reply, nil for none. Repeats are harmless:
// stops and fences are idempotent, and sessions deduplicate requests by client_message_id.
func (w *Worker) handleTell(ctx context.Context, attempt, verb string, body []byte) []byte {
	switch verb {
	case fleet.TellSealed:
		var sealed fleet.Sealed
		if json.Unmarshal(body, &sealed) == nil {
			w.tellSealed(sealed)
		}
		return nil
	case fleet.TellResend:
		var resend fleet.Resend
		if json.Unmarshal(body, &resend) == nil {
			if a := w.find(resend.Attempt); a != nil {
				a.shipper.from(resend.From)
				a.poke()
			}
		}
		return nil
	}
	var tell fleet.Tell
	if json.Unmarshal(body, &tell) != nil {
		return nil
	}
	if tell.Seq == 0 { // a notification, which has no reply and no stamp
		_, _, err := w.carryOut(ctx, attempt, verb, body)
		if err != nil {
			w.host.Log.Warn("what the hub said is not understood", "verb", verb, "error", err)
		}
		return nil
	}
	if !w.acceptStamp(ctx, tell.Stamp) {
		return nil
	}
	reply := fleet.TellReply{Reply: fleet.Reply{Seq: tell.Seq}}
	result, n, err := w.carryOut(ctx, attempt, verb, tell.Params)
	if err != nil {
		reply.Reply = fleet.Refusal(tell.Seq, err)
	} else {
		reply.Result, reply.N = result, n
	}
	answer, err := encode(reply)
	if err != nil {
		return nil
	}
	return answer
}

func (w *Worker) tellSealed(sealed fleet.Sealed) {
	for id, n := range sealed.Sealed {
		if a := w.find(id); a != nil {
			a.seal(n)
		}
	}
	for _, id := range sealed.Settled {
		if a := w.find(id); a != nil {
			a.settle()
			a.poke()
		}
	}
}

// carryOut executes a message. n is the number of the newest draft that it caused.
func (w *Worker) carryOut(ctx context.Context, attempt, verb string, params json.RawMessage) (result json.RawMessage, n int64, err error) {
	switch {
	case verb == fleet.TellDrain:
		var drain fleet.Drain
		if err := json.Unmarshal(params, &drain); err != nil {
			return nil, 0, err
		}
		w.mu.Lock()
		w.drained = drain.On
		w.mu.Unlock()
		w.wake()
		return nil, 0, nil
	case verb == fleet.TellProbe:
		return w.probed(ctx, params)
	case verb == fleet.TellFence && attempt == "":
		var fence fleet.Fence
		if err := json.Unmarshal(params, &fence); err != nil {
			return nil, 0, err
		}
		attempt = fence.Attempt
	}
	a := w.find(attempt)
	if a == nil {
		return nil, 0, fault.New(fault.NotFound, "the worker does not know attempt %s", attempt)
	}
	return a.carryOut(ctx, verb, params)
}

// carryOut executes a message about the attempt.
func (a *attempt) carryOut(ctx context.Context, verb string, params json.RawMessage) (result json.RawMessage, n int64, err error) {
	switch verb {
	case fleet.TellFence:
		var fence fleet.Fence
		if err := json.Unmarshal(params, &fence); err != nil {
			return nil, 0, err
		}
		if fence.Reason == fleet.WhyGiveUp {
			a.abandon(fault.New(fault.Canceled, "the hub asked for the attempt back"))
		} else {
			a.fence(ctx)
		}
		return nil, 0, nil
	case fleet.TellState:
		record, err := a.session()
		if err != nil {
			return nil, 0, err
		}
		result, err = json.Marshal(record)
		return result, 0, err
	case fleet.TellStop:
		record, err := a.stop(ctx)
		if fault.Is(err, fault.NotFound) { // it did not start, and will not
			return nil, 0, nil
		}
		if err != nil {
			return nil, 0, err
		}
		result, err = json.Marshal(record)
		return result, 0, err
	}
	record, err := a.session()
	if err == nil && doc.Terminal(record.Status) {
		err = fault.New(fault.RunNotLive, "the session of run %s is over", record.RunID)
	}
	if err != nil {
		return nil, 0, err
	}
	result, err = session.Relay(ctx, a.w.spool, record, verb, params)
	if err != nil {
		return nil, 0, err
	}
	// The effects of the verb are in the log by now. newest syncs it, so they are as durable as
	// the reply.
	n, err = a.shipper.newest()
	a.poke()
	return result, n, err
}

// greetPatience is how long a message waits for a hello in progress.
const greetPatience = 2 * time.Second

// replayWindow is how far messages from the hub may be reordered.
const replayWindow = 1024

// replayFilter detects repeated messages. It accepts only messages of the hub process that
// answered the last hello.
type replayFilter struct {
	boot    string
	highest int64
	seen    map[int64]bool
}

// acceptStamp reports whether a request of the hub is new, and remembers it. This prevents replays: an
// operator of the carrier could repeat requests that the hub signed. Notifications have no stamp
// and are not checked: a fence is final, the hub asks for drafts again that a sealed number skips,
// a resend costs traffic, and the next beat corrects a drain. A recorded end is final as well,
// unless the hub's workspace was restored from an older copy.
func (w *Worker) acceptStamp(ctx context.Context, stamp fleet.Stamp) bool {
	w.awaitHello(ctx, stamp.Boot)
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &w.replays
	if stamp.Boot != h.boot || stamp.Seq <= h.highest-replayWindow || h.seen[stamp.Seq] {
		return false
	}
	h.seen[stamp.Seq] = true
	if stamp.Seq > h.highest {
		h.highest = stamp.Seq
		maps.DeleteFunc(h.seen, func(seq int64, _ bool) bool { return seq <= h.highest-replayWindow })
	}
	return true
}

// awaitHello waits for the end of a hello in progress, unless the worker already knows this hub
// process. The hub may send a message directly after its reply to the hello, and the worker may
// receive it before it has read the reply.
func (w *Worker) awaitHello(ctx context.Context, boot string) {
	w.mu.Lock()
	known, over := w.replays.boot == boot, w.helloOver
	w.mu.Unlock()
	if known || over == nil {
		return
	}
	limit := time.NewTimer(greetPatience)
	defer limit.Stop()
	select {
	case <-over:
	case <-limit.C:
	case <-ctx.Done():
	}
}

// beginHello marks a hello as in progress until end is called.
func (w *Worker) beginHello() (end func()) {
	over := make(chan struct{})
	w.mu.Lock()
	w.helloOver = over
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		if w.helloOver == over { // otherwise another one is in progress
			w.helloOver = nil
		}
		w.mu.Unlock()
		close(over)
	}
}

// listenTo sets the hub process whose messages are accepted.
func (w *Worker) listenTo(boot string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.replays.boot != boot {
		w.replays = replayFilter{boot: boot, seen: map[int64]bool{}}
	}
}
