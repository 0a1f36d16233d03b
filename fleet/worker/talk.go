package worker

// The worker's requests to the hub: a hello after each connect, and beats.

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"ac/fleet"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace/doc"
)

// sequence numbers the requests of a process.
type sequence struct{ last atomic.Int64 }

func (s *sequence) next() int64 { return s.last.Add(1) }

// ask sends a request and decodes the reply. It fills in the request's stamp. A refusal by the
// hub becomes an error with its reason.
func (w *Worker) ask(ctx context.Context, verb string, stamp *fleet.Stamp, request any, reply interface{ Err() error }) error {
	carrier := w.connection()
	if carrier == nil {
		return errUnconnected
	}
	*stamp = fleet.Stamp{Boot: w.boot, Seq: w.seq.next()}
	body, err := encode(request)
	if err != nil {
		return err
	}
	answer, err := carrier.Ask(ctx, verb, body)
	if err != nil {
		return err
	}
	var which fleet.Reply
	if json.Unmarshal(answer, &which) != nil || which.Seq != stamp.Seq || json.Unmarshal(answer, reply) != nil {
		return fault.New(fleet.CarrierUnavailable, "the hub's answer to %s is not understood", verb)
	}
	return reply.Err()
}

// greet says hello until the hub accepts it or dismisses the worker.
func (w *Worker) greet(ctx context.Context) {
	w.mu.Lock()
	w.greeted = false
	w.mu.Unlock()
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		err := w.hello(ctx)
		if err == nil {
			return
		}
		w.host.Log.Warn("the hub did not welcome the worker", "error", err)
		if isDismissal(err) {
			w.end(err)
			return
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// hello introduces the worker, and applies the hub's state of its attempts.
func (w *Worker) hello(ctx context.Context) error {
	hello := w.introduction(ctx)
	over := w.beginHello()
	var reply fleet.HelloReply
	sent := w.host.Elapsed()
	if err := w.ask(ctx, fleet.AskHello, &hello.Stamp, &hello, &reply); err != nil {
		over()
		return err
	}
	w.adopt(&reply.Settings)
	w.listenTo(reply.Hub.Boot)
	over()
	w.mu.Lock()
	first := !w.welcomed
	w.welcomed, w.greeted, w.drained = true, true, reply.Drain
	if reply.Slots > 0 {
		w.slots = reply.Slots
	}
	w.mu.Unlock()
	if first && w.host.Connected != nil {
		w.host.Connected()
	}
	for id, told := range reply.Attempts {
		a := w.find(id)
		if a == nil {
			continue
		}
		a.recordContact(sent)
		a.shipper.reset(told.Sealed)
		a.applyReply(ctx, told.Stop, told.Fenced, told.Settled)
		a.poke()
	}
	w.wake()
	return nil
}

// introduction returns the worker's hello.
func (w *Worker) introduction(ctx context.Context) fleet.Hello {
	config := w.folder.Config
	h := fleet.Hello{
		Protocol: w.host.Speaks.Protocol, Orders: w.host.Speaks.Orders, Version: w.host.Version,
		Instance: w.folder.Instance, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Labels: append([]string{}, config.Labels...),
		Slots: config.Slots, Secrets: []string{}, Repos: w.tips(ctx), Attempts: []fleet.HelloAttempt{},
	}
	for name := range config.Secrets {
		h.Secrets = append(h.Secrets, name)
	}
	slices.Sort(h.Secrets)
	for _, a := range w.all() {
		r := a.state()
		newest, _ := a.shipper.newest() // a beat reports it if it is unreadable now
		h.Attempts = append(h.Attempts, fleet.HelloAttempt{Attempt: a.id, State: r.State, LastN: newest})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	h.Providers, h.NowMS = w.providers, w.spool.Env.Clock.Now().UnixMilli() // last: the hub measures the clock offset by it
	return h
}

// tips returns commits that the mirrors have, by repository.
func (w *Worker) tips(ctx context.Context) map[string][]string {
	found := map[string][]string{}
	machine, err := w.spool.Machine()
	if err != nil {
		return found
	}
	for repo := range machine.RepoRoots {
		if tips, err := w.mirrors.Tips(ctx, repo); err == nil && len(tips) > 0 {
			found[repo] = tips
		}
	}
	return found
}

// beat sends beats until ctx ends.
func (w *Worker) beat(ctx context.Context) {
	for wait := w.currentSettings().Beat(); ; {
		if !sleep(ctx, wait) {
			return
		}
		wait = w.currentSettings().Beat()
		w.mu.Lock()
		greeted := w.greeted
		w.mu.Unlock()
		if !greeted {
			continue
		}
		next, err := w.beatOnce(ctx)
		if err == nil {
			wait = next
		} else {
			w.host.Log.Warn("a beat was not answered", "error", err)
			if isDismissal(err) {
				w.end(err)
			} else if refused(err) {
				w.greet(ctx) // the hub does not know this process
			}
		}
	}
}

// beatOnce sends a beat and applies the reply. It returns the wait until the next beat.
func (w *Worker) beatOnce(ctx context.Context) (next time.Duration, err error) {
	b := w.pulse()
	var reply fleet.BeatReply
	sent := w.host.Elapsed()
	if err := w.ask(ctx, fleet.AskBeat, &b.Stamp, &b, &reply); err != nil {
		return 0, err
	}
	w.mu.Lock()
	w.rtt = w.host.Elapsed() - sent
	w.drained = reply.Drain
	w.mu.Unlock()
	w.adopt(reply.Settings)
	for id, left := range reply.Lease {
		if a := w.find(id); a != nil {
			a.renew(sent, time.Duration(left)*time.Second)
		}
	}
	for id := range b.Attempts {
		if a := w.find(id); a != nil {
			a.recordContact(sent)
		}
	}
	for id, n := range reply.Sealed {
		if a := w.find(id); a != nil {
			a.seal(n)
		}
	}
	w.limit(ctx, reply.Limits)
	for _, a := range w.all() {
		a.applyReply(ctx, slices.Contains(reply.Stop, a.id), slices.Contains(reply.Fenced, a.id), slices.Contains(reply.Settled, a.id))
	}
	w.wake()
	return w.currentSettings().Wait(time.Duration(reply.NextMS) * time.Millisecond), nil
}

// applyReply applies what a reply of the hub says about an attempt.
func (a *attempt) applyReply(ctx context.Context, stop, fenced, settled bool) {
	if settled {
		a.settle()
		a.poke()
	}
	if fenced {
		a.fence(ctx)
	}
	if stop && !a.isStopped() {
		if _, err := a.stop(ctx); err != nil && !fault.Is(err, fault.NotFound) {
			a.w.host.Log.Warn("a session cannot be stopped", "attempt", a.id, "error", err)
		}
	}
}

// isStopped reports whether the session has received the stop that the hub requested.
func (a *attempt) isStopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopped && a.record.State != stateStarting
}

// pulse returns the current beat.
func (w *Worker) pulse() fleet.Beat {
	b := fleet.Beat{Load1: load1(), MemFree: memFree(), Attempts: map[string]fleet.BeatAttempt{}}
	free, low := w.checkDisk()
	b.DiskFree = free
	for _, a := range w.all() {
		r := a.state()
		if r.State == stateSettled {
			continue
		}
		newest, err := a.shipper.newest()
		if err != nil {
			newest = r.Sent
		}
		b.Attempts[a.id] = fleet.BeatAttempt{N: newest, State: r.State, SpooledBytes: a.shipper.unsealedBytes(), OldestMS: a.shipper.oldest(w.spool.Env.Clock.Now()).Milliseconds()}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.RTTMS = float64(w.rtt.Microseconds()) / 1000; !w.drained && !w.leaving {
		b.FreeSlots = w.freeSlots()
	}
	if low {
		b.FreeSlots, b.Why = 0, "disk"
	}
	b.NowMS = w.spool.Env.Clock.Now().UnixMilli() // last: the hub measures the clock offset by it
	return b
}

// limit passes allowances to the sessions: what each may spend while no beat is answered.
func (w *Worker) limit(ctx context.Context, limits map[string]fleet.Allowance) {
	for id, may := range limits {
		a := w.find(id)
		if a == nil || a.state().State != stateStarted {
			continue
		}
		if record, err := a.session(); err == nil && !doc.Terminal(record.Status) {
			request := session.LimitsRequest{Allowance: &may, InForceAfterMS: w.currentSettings().UnreachableAfterMS}
			if _, err := session.Limit(ctx, w.spool, record, request); err != nil && !fault.Is(err, fault.RunNotLive) {
				w.host.Log.Warn("an allowance was not taken", "attempt", id, "error", err)
			}
		}
	}
}

// adopt applies the hub's settings. nil leaves them unchanged.
func (w *Worker) adopt(settings *fleet.Settings) {
	if settings == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settings = fleet.Defaults().Over(*settings)
}

func (w *Worker) currentSettings() fleet.Settings {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.settings
}
