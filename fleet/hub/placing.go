package hub

// Placing. A launch waits for a worker, is accepted, and becomes an order.

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/fleet/placement"
	"ac/internal/fault"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/runs/session/supervisor"
)

// waiter is a launch that waits for a worker.
type waiter struct {
	launch  placement.Launch
	outcome chan outcome // receives one value when the launch leaves the queue
}

// outcome is the worker for a launch, with a slot reserved there, or the reasons why none was
// found.
type outcome struct {
	worker   *worker
	slot     *launch
	refusals []placement.Refusal
}

// answerAfter is how long place waits for the provider before it replies.
const answerAfter = 800 * time.Millisecond

// view describes a worker for placement. cooling reports whether a provider is in cooldown. The
// caller must hold the hub's lock.
func (h *Hub) view(w *worker, cooling func(provider string) bool) placement.Worker {
	v := placement.Worker{
		ID: w.record.ID, Name: w.record.Name, State: placement.State(w.record.State), Online: h.online(w) && w.hello != nil,
		Labels: slices.Clone(w.record.Labels), Slots: w.record.Slots, Used: len(w.launches), LastPlacedMS: w.placedMS, Starts: w.starts,
		MinFree: h.settings.MinFreeBytes,
	}
	if p := w.hello; p != nil {
		v.Labels = append(v.Labels, builtIn(*p)...)
		if w.record.TrustLabels {
			v.Labels = append(v.Labels, p.Labels...)
		}
		for name, probe := range p.Providers {
			if probe.OK {
				v.Providers = append(v.Providers, name)
			}
		}
		v.Secrets, v.Orders = p.Secrets, w.orders()
		if p.Slots > 0 {
			v.Slots = min(v.Slots, p.Slots)
		}
		for id := range p.Repos {
			v.Repos = append(v.Repos, id)
		}
	}
	for _, name := range append([]string{placement.ProviderCommand}, v.Providers...) {
		if cooling(lane.OnWorker(name, v.ID)) {
			v.Cooling = append(v.Cooling, name)
		}
	}
	// The worker itself reports a full disk, since its own limit may differ.
	v.DiskFree = v.MinFree
	if w.beat.Why == "disk" {
		v.DiskFree = 0
	}
	return v
}

// views describes all workers, ordered by name. The caller must hold the hub's lock.
func (h *Hub) views() []placement.Worker {
	list := make([]placement.Worker, 0, len(h.workers))
	cooling := lane.New(h.w).Cooling()
	for _, w := range h.workers {
		list = append(list, h.view(w, cooling))
	}
	slices.SortFunc(list, func(a, b placement.Worker) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// placementLaunch describes an order for placement. The caller must hold the hub's lock.
func (h *Hub) placementLaunch(p fleet.PlaceRequest) (placement.Launch, error) {
	h.arrivals++
	l := placement.Launch{
		ID: strconv.FormatInt(h.arrivals, 10), Arrival: h.arrivals, Provider: p.Order.Provider, Labels: p.Placement.Labels, RepoID: p.Order.RepoID, Orders: versions(h.o.Speaks.Orders),
		Priority: map[string]int{lane.High: 1, lane.Low: -1}[p.Priority], Earlier: h.earlier(p.Order), Only: p.Only,
	}
	for _, name := range p.Placement.SecretRefs {
		l.Secrets = append(l.Secrets, name)
	}
	if p.Order.Live != nil && p.Order.Live.MustResume {
		l.BoundUntilMS = h.now() + 1000*p.Placement.Wait()
	}
	if p.Placement.WorkerID != "" {
		w, err := h.find(p.Placement.WorkerID)
		if err != nil {
			return l, err
		}
		l.Named = w.record.ID
	}
	return l, nil
}

// earlier returns the worker of the run's previous session. The caller must hold the hub's lock.
func (h *Hub) earlier(o session.Order) (worker string) {
	var at int64
	for _, r := range h.past {
		if r.ProjectID == o.ProjectID && r.RunID == o.RunID && r.State == fleet.AttemptDone && r.PlacedAtMS >= at {
			worker, at = r.WorkerID, r.PlacedAtMS
		}
	}
	return worker
}

// place executes a session on a worker. It returns when the provider runs, when the session is
// over, or answerAfter after the session was accepted.
func (h *Hub) place(ctx context.Context, p fleet.PlaceRequest) (result fleet.PlaceResult, err error) {
	if issues := p.Placement.CheckFields(); len(issues) > 0 {
		return result, fault.Invalid(issues...)
	}
	out, held := h.consumeHold(p.Hold)
	if !held {
		out, err = h.awaitWorker(ctx, p)
	}
	if err != nil || out.worker == nil {
		return fleet.PlaceResult{Local: err == nil}, err
	}
	l, err := h.accept(context.WithoutCancel(ctx), p, out.worker)
	h.releaseSlot(out)
	if err != nil {
		return result, err
	}
	h.wg.Go(func() { h.send(l) })
	timer := time.NewTimer(answerAfter)
	defer timer.Stop()
	select {
	case <-l.ready:
	case <-timer.C:
	case <-h.ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return fleet.PlaceResult{WorkerID: l.at.worker, WorkerName: l.at.name, Epoch: l.at.epoch}, nil
}

// awaitWorker waits for a worker and reserves a slot there. With placement "any" it does not wait: if
// no slot is free now, the outcome has no worker.
func (h *Hub) awaitWorker(ctx context.Context, p fleet.PlaceRequest) (out outcome, err error) {
	h.mu.Lock()
	wanted, err := h.placementLaunch(p)
	if err != nil {
		h.mu.Unlock()
		return out, err
	}
	me := &waiter{launch: wanted, outcome: make(chan outcome, 1)}
	h.waiting = append(h.waiting, me)
	h.assign()
	h.mu.Unlock()
	wait := time.NewTimer(time.Duration(p.Placement.Wait()) * time.Second)
	defer wait.Stop()
	ready := make(chan struct{})
	if p.Placement.Where == fleet.WhereAny {
		close(ready) // do not wait
	}
	select {
	case out = <-me.outcome:
	case <-wait.C:
		out = h.stopWaiting(me)
	case <-ready:
		out = h.stopWaiting(me)
	case <-ctx.Done():
		if out = h.stopWaiting(me); out.worker != nil {
			h.releaseSlot(out)
		}
		return outcome{}, context.Cause(ctx)
	case <-h.ctx.Done():
		return outcome{}, session.HubNotRunning(errors.New("it is being stopped"))
	}
	if out.worker == nil && p.Placement.Where != fleet.WhereAny {
		return out, noWorker(out.refusals)
	}
	return out, nil
}

// releaseSlot releases a reserved slot.
func (h *Hub) releaseSlot(out outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(out.worker.launches, out.slot)
	h.wakeTick()
}

// stopWaiting removes a launch from the queue. It returns the outcome if there is one by now,
// otherwise the refusals.
func (h *Hub) stopWaiting(me *waiter) outcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.waiting)
	h.waiting = slices.DeleteFunc(h.waiting, func(other *waiter) bool { return other == me })
	if len(h.waiting) == before {
		return <-me.outcome
	}
	return outcome{refusals: placement.Refusals(h.views(), me.launch, h.now())}
}

// noWorker returns the refusal of a launch that no worker can execute.
func noWorker(refusals []placement.Refusal) error {
	data := fleet.NoWorkerData{Workers: []fleet.UnfitWorker{}}
	for _, r := range refusals {
		data.Workers = append(data.Workers, fleet.UnfitWorker{WorkerID: r.WorkerID, Name: r.Name, Why: string(r.Why)})
	}
	why := "there is none; ac worker:invite makes one"
	if len(refusals) > 0 {
		why = "of " + refusals[0].Name + " because of: " + string(refusals[0].Why)
	}
	return fault.New(fleet.NoWorker, "no worker takes the session: %s", why).With(data)
}

// assign matches waiting launches with workers. It also ends the wait of launches that no worker
// will ever fit. The caller must hold the hub's lock.
func (h *Hub) assign() {
	if len(h.waiting) == 0 {
		return
	}
	launches := make([]placement.Launch, len(h.waiting))
	for i, one := range h.waiting {
		launches[i] = one.launch
	}
	for _, a := range placement.Assign(h.views(), launches, h.now()) {
		w, slot := h.workers[a.WorkerID], &launch{}
		w.launches[slot], w.placedMS = true, h.now()
		h.waiting = slices.DeleteFunc(h.waiting, func(one *waiter) bool {
			if one.launch.ID == a.LaunchID {
				one.outcome <- outcome{worker: w, slot: slot}
			}
			return one.launch.ID == a.LaunchID
		})
	}
	views := h.views()
	h.waiting = slices.DeleteFunc(h.waiting, func(one *waiter) bool {
		hopeless := placement.CannotFit(views, one.launch, h.now())
		if hopeless {
			one.outcome <- outcome{refusals: placement.Refusals(views, one.launch, h.now())}
		}
		return hopeless
	})
}

// accept records a placement: first the attempt, then the session's record with its event.
func (h *Hub) accept(ctx context.Context, p fleet.PlaceRequest, w *worker) (*launch, error) {
	began := h.now()
	at := h.nextPlace(p.Order, w)
	l := h.newLaunch(p.Order, p.Placement, p.Priority, at)
	l.only = p.Only
	l.mu.Lock()
	defer l.mu.Unlock()
	placed := func(source events.Source) ([]events.Draft, error) {
		offset, err := h.sizeOf(l.name)
		if err != nil {
			return nil, err
		}
		l.record.Checkpoint.Offset = offset
		if err := l.save(); err != nil {
			return nil, err
		}
		drafts, err := l.placedEvents(source, began)
		if err != nil {
			return nil, err
		}
		notice, err := l.equipmentNotice(source)
		return append(drafts, notice...), err
	}
	remote, err := supervisor.AcceptRemote(ctx, h.w, l.host(), p.Order, placed)
	if remote == nil {
		_ = h.w.FS.Remove(fleet.AttemptFile(at.attempt)) // the placement was refused; the next hub drops what remains
		return nil, err
	}
	if err != nil {
		h.o.Log.Warn("the state of the repository was not recorded", "run", p.Order.RunID, "error", err)
	}
	l.remote = remote
	h.register(l)
	return l, nil
}

// nextPlace returns the place of a session's next attempt, with the first unused epoch.
func (h *Hub) nextPlace(o session.Order, w *worker) place {
	h.mu.Lock()
	defer h.mu.Unlock()
	epoch := 1
	for h.past[fleet.Attempt(o.ProjectID, o.RunID, o.SessionRef, epoch)] != nil {
		epoch++
	}
	return place{fleet.Attempt(o.ProjectID, o.RunID, o.SessionRef, epoch), w.record.ID, w.record.Name, epoch}
}
