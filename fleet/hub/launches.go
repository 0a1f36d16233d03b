package hub

// Launches. A launch is a session on another machine, from placement to end, in one or more
// attempts.

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/fleet/lag"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
	"ac/workspace/doc"
)

// launch is a session that a worker executes or will execute. Lock order: its lock first, then
// the hub's.
type launch struct {
	h         *Hub
	order     session.Order
	placement fleet.Placement
	priority  string
	only      string // the only worker that may execute it, "" for any
	name      string // of the log

	// at is where the session is placed. Writers hold both locks, so readers need only one.
	at place

	sending sync.Mutex // held while its order is built and published; locked before mu

	mu             sync.Mutex
	remote         *supervisor.Remote
	log            *events.Log
	record         fleet.AttemptRecord
	body           []byte // the encoded order; nil until it is built
	sent           bool   // body was published
	withdrawn      bool   // the attempt was withdrawn; the session has no other one yet
	tried          []string
	base           string        // the commit that it starts from, "" if unknown or without a repository
	ready          chan struct{} // closed when the provider runs or the session is over
	ending         bool          // the end is being recorded
	over           bool          // it is recorded
	reach          string
	since          time.Duration // when it was placed, sent or claimed, by Options.Elapsed
	lag            lag.Lag
	spooled        int64
	last           int64 // newest time of a draft, Unix milliseconds
	sealing        sealing
	waiters        map[chan struct{}]int64 // to the draft number that each waits for
	busy           atomic.Bool             // a call of Hub.runInBackground runs
	refused        bool                    // an event about a refused draft was recorded
	evidence       *evidenceCounts         // only for the ingester
	actors         []string                // actors of requests that the hub relayed
	checkpointedAt time.Duration           // when the checkpoint was last written
}

// place is where a session is placed.
type place struct {
	attempt string
	worker  string
	name    string // of the worker
	epoch   int
}

// id returns the newest attempt. The caller must hold either lock.
func (l *launch) id() string { return l.at.attempt }

// launchState is the part of a launch that the attempt's file stores.
type launchState struct {
	Order     session.Order   `json:"order"`
	Placement fleet.Placement `json:"placement"`
	Priority  string          `json:"priority,omitempty"`
	Only      string          `json:"only,omitempty"`
	Tried     []string        `json:"tried,omitempty"`
	Base      string          `json:"base,omitempty"`
	Actors    []string        `json:"actors,omitempty"`
}

// newLaunch returns the launch of an order on a worker.
func (h *Hub) newLaunch(order session.Order, placed fleet.Placement, priority string, at place) *launch {
	l := &launch{
		h: h, order: order, placement: placed, priority: priority, name: workspace.LogFile(order.ProjectID, order.RunID), at: at,
		ready: make(chan struct{}), reach: doc.ReachPlacing, since: h.o.Elapsed(), waiters: map[chan struct{}]int64{}, evidence: &evidenceCounts{},
	}
	l.log = events.OpenLog(h.w.FS, l.name)
	l.record = fleet.AttemptRecord{
		Attempt: at.attempt, ProjectID: order.ProjectID, RunID: order.RunID, SessionRef: order.SessionRef, Epoch: at.epoch, WorkerID: at.worker,
		State: fleet.AttemptPlaced, LeaseS: l.leaseS(), OnCutOff: l.onCutOff(), PlacedAtMS: h.now(),
	}
	return l
}

func (l *launch) leaseS() int64 {
	if l.placement.LeaseS > 0 {
		return l.placement.LeaseS
	}
	return l.h.settingsNow().LeaseS
}

func (l *launch) onCutOff() string {
	if l.placement.OnCutOff != "" {
		return l.placement.OnCutOff
	}
	return l.h.settingsNow().OnCutOff
}

func (h *Hub) settingsNow() fleet.Settings {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settings
}

// save writes the record of the attempt. It is durable on return. The caller must hold the
// launch's lock.
func (l *launch) save() error {
	record, err := l.fullRecord()
	if err != nil {
		return err
	}
	return fleet.WriteAttempt(l.h.w, record)
}

// saveHint is save without waiting for the disk.
func (l *launch) saveHint() {
	if record, err := l.fullRecord(); err == nil {
		_ = fleet.HintAttempt(l.h.w, record) // best effort: an older record makes the next hub read more
	}
}

// fullRecord returns the record with everything that the next hub needs.
func (l *launch) fullRecord() (record fleet.AttemptRecord, err error) {
	record = l.record
	if record.State == fleet.AttemptDone || record.State == fleet.AttemptFenced {
		return record, nil
	}
	record.Order, err = json.Marshal(launchState{l.order, l.placement, l.priority, l.only, l.tried, l.base, l.actors})
	return record, err
}

// set changes the record of the attempt. The change is durable on return. After a failure the
// record is unchanged. The caller must hold the launch's lock.
func (l *launch) set(change func(*fleet.AttemptRecord)) error {
	before := l.record
	change(&l.record)
	if err := l.save(); err != nil {
		l.record = before
		return err
	}
	return nil
}

// live reports whether the session has not ended and is not ending. The caller must hold the
// launch's lock.
func (l *launch) live() bool { return !l.over && !l.ending }

// register registers the launch.
func (h *Hub) register(l *launch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.launches[l.at.attempt] = l
	if w := h.workers[l.at.worker]; w != nil {
		w.launches[l] = true
		w.placedMS = h.now()
	}
}

// unregister unregisters the launch and keeps the record of its attempt.
func (h *Hub) unregister(l *launch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.launches, l.at.attempt)
	if w := h.workers[l.at.worker]; w != nil {
		delete(w.launches, l)
	}
	record := l.record
	record.Order, record.End = nil, nil
	h.past[l.at.attempt], h.evidenceOf[l.at.attempt] = &record, l.evidence
	h.wakeTick()
}

// byAttempt returns the launch whose newest attempt this is, if the worker matches, else nil.
func (h *Hub) byAttempt(worker, attempt string) *launch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.launches[attempt]; l != nil && l.at.worker == worker {
		return l
	}
	return nil
}

// all returns the registered launches.
func (h *Hub) all() []*launch {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*launch, 0, len(h.launches))
	for _, l := range h.launches {
		list = append(list, l)
	}
	return list
}

// close detaches from the session, so that the next hub can take it over.
func (l *launch) close() error {
	l.mu.Lock()
	remote := l.remote
	l.remote = nil
	l.mu.Unlock()
	var err error
	if remote != nil {
		err = remote.Close() // without the lock, which its requests may need
	}
	return errors.Join(err, l.log.Close())
}

// markReady closes ready, once. The caller must hold the launch's lock.
func (l *launch) markReady() {
	select {
	case <-l.ready:
	default:
		close(l.ready)
	}
}

// loadAttempts takes over the attempts of the previous hub.
func (h *Hub) loadAttempts(ctx context.Context) error {
	list, broken, err := fleet.ReadAttempts(h.w.FS)
	if err != nil {
		return err
	}
	h.broken = append(h.broken, broken...)
	newest := map[string]int{}
	for _, r := range list {
		newest[r.Attempt[:16]] = max(newest[r.Attempt[:16]], r.Epoch)
	}
	for _, r := range list {
		switch {
		case r.State == fleet.AttemptDone || r.State == fleet.AttemptFenced || r.Epoch < newest[r.Attempt[:16]]:
			if h.now()-max(r.DoneAtMS, r.PlacedAtMS) > attemptsKept.Milliseconds() {
				_ = h.w.FS.Remove(fleet.AttemptFile(r.Attempt)) // best effort: the next hub tries again
				continue
			}
			if r.State != fleet.AttemptDone {
				r.State = fleet.AttemptFenced
			}
			r.Order, r.End = nil, nil
			h.past[r.Attempt] = &r
		default:
			if err := h.resume(ctx, r); err != nil {
				h.o.Log.Error("an attempt cannot be taken over", "attempt", r.Attempt, "run", r.RunID, "error", err)
				h.broken = append(h.broken, r.Attempt+".json")
			}
		}
	}
	return nil
}

// attemptsKept is how long the record of a finished attempt is kept.
const attemptsKept = 7 * 24 * time.Hour

// resume takes over an attempt of the previous hub.
func (h *Hub) resume(ctx context.Context, r fleet.AttemptRecord) error {
	var k launchState
	if err := json.Unmarshal(r.Order, &k); err != nil {
		return fault.New(fault.InvalidFile, "the order of attempt %s: %w", r.Attempt, err)
	}
	name := r.WorkerID
	if w := h.workers[r.WorkerID]; w != nil {
		name = w.record.Name
	}
	l := h.newLaunch(k.Order, k.Placement, k.Priority, place{r.Attempt, r.WorkerID, name, r.Epoch})
	l.record, l.only, l.tried, l.base, l.actors = r, k.Only, k.Tried, k.Base, k.Actors
	remote, err := supervisor.ResumeRemote(ctx, h.w, l.host(), k.Order)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) {
		// The previous hub died before the session's record was written, so nothing was ordered.
		l.record.State, l.record.DoneAtMS = fleet.AttemptFenced, h.now()
		h.past[r.Attempt] = &l.record
		return l.save()
	}
	if err != nil {
		return err
	}
	l.remote = remote
	if remote.Ended() { // the previous hub died before it recorded that
		l.record.State, l.record.DoneAtMS, l.record.End = fleet.AttemptDone, h.now(), nil
		h.past[r.Attempt] = &l.record
		return errors.Join(l.save(), l.close())
	}
	if err := errors.Join(l.recover(), h.placedAgain(ctx, l)); err != nil {
		return errors.Join(err, l.close())
	}
	if r.State != fleet.AttemptPlaced {
		l.reach = doc.ReachOK
		l.markReady()
	}
	if remote.StopMarked() && !r.Stop {
		if err := l.set(func(r *fleet.AttemptRecord) { r.Stop = true }); err != nil {
			return errors.Join(err, l.close())
		}
	}
	h.register(l)
	if r.FencedFor != "" {
		l.ending = true
		h.wg.Go(func() { h.conclude(l, l.lostEnd(), fleet.AttemptFenced) })
	}
	if l.record.State == fleet.AttemptOver && r.FencedFor == "" {
		l.ending = true
		h.wg.Go(func() { h.finish(l) })
	}
	return nil
}

// placedAgain repairs a placement that the previous hub did not finish. That hub had placed the
// session on another worker and died before the session's record said so.
func (h *Hub) placedAgain(ctx context.Context, l *launch) error {
	worker, epoch, due := l.remote.RecordedAttempt()
	if !due {
		return nil
	}
	reason := withdrawnNeverStarted
	if past := h.past[fleet.Attempt(l.order.ProjectID, l.order.RunID, l.order.SessionRef, epoch)]; past != nil && past.FencedFor != "" {
		reason = past.FencedFor
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.recordReplacement(ctx, place{worker: worker, epoch: epoch}, reason)
}
