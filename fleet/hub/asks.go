package hub

// Requests of workers. The hub first checks the signature and whether the request is a repeat.
// Each verb has one handler.

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"ac/fleet"
	"ac/fleet/carrier"
	"ac/internal/clock"
	"ac/internal/fault"
)

// answer answers a request of a worker. It returns nil if the request is not authentic or is a
// repeat.
func (h *Hub) answer(ctx context.Context, a carrier.Request) []byte {
	select {
	case <-h.loaded: // until then, known attempts would seem unknown
	case <-ctx.Done():
		return nil
	}
	var stamp fleet.Stamp
	if json.Unmarshal(a.Body, &stamp) != nil || !h.isAuthentic(a, stamp) {
		h.refused.Add(1)
		return nil
	}
	reply, err := h.serve(ctx, a, stamp)
	if err != nil {
		reply = struct{ fleet.Reply }{fleet.Refusal(stamp.Seq, err)}
	}
	text, err := json.Marshal(reply)
	if err != nil {
		return nil
	}
	return text
}

// isAuthentic reports whether a request is new and signed with its worker's current key. After a
// join, the invitation's key stays valid for further joins during joinGrace.
func (h *Hub) isAuthentic(a carrier.Request, stamp fleet.Stamp) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.workers[a.Worker]
	if w == nil || w.record.State == fleet.WorkerRevoked {
		return false
	}
	key := w.record.PublicKey
	if a.Verb == fleet.AskJoin {
		switch key = w.joinedBy; {
		case w.record.Invite != nil:
			key = w.record.Invite.PublicKey
		case h.w.Env.Clock.Now().Sub(w.joinedAt) >= joinGrace:
			return false
		}
	}
	return key != "" && fleet.Verify(key, a.Subject, a.Body, a.Signature) && w.stamps.Accept(stamp)
}

// serve decodes a request and calls its handler.
func (h *Hub) serve(ctx context.Context, a carrier.Request, stamp fleet.Stamp) (any, error) {
	switch a.Verb {
	case fleet.AskJoin:
		return handleAsk(a, stamp, h.join)
	case fleet.AskHello:
		return handleAsk(a, stamp, func(id string, p fleet.Hello) (fleet.HelloReply, error) { return h.handleHello(ctx, id, p) })
	case fleet.AskBeat:
		return handleAsk(a, stamp, h.handleBeat)
	case fleet.AskClaim:
		return handleAsk(a, stamp, func(id string, p fleet.GiveUp) (fleet.ClaimReply, error) { return h.claim(ctx, id, p) })
	case fleet.AskObject:
		return handleAsk(a, stamp, func(id string, p fleet.ObjectAsk) (fleet.ObjectReply, error) { return h.objectTaken(id, p) })
	}
	return nil, fault.New(fault.Unsupported, "this hub does not know %s", a.Verb)
}

// stampedReply is a reply that can be stamped with a sequence number.
type stampedReply[R any] interface {
	*R
	SetSeq(seq int64)
}

func handleAsk[P, R any, A stampedReply[R]](a carrier.Request, stamp fleet.Stamp, do func(worker string, p P) (R, error)) (any, error) {
	var p P
	if err := json.Unmarshal(a.Body, &p); err != nil {
		return nil, fault.New(fault.InvalidParams, "the request is not understood: %w", err)
	}
	reply, err := do(a.Worker, p)
	if err != nil {
		return nil, err
	}
	A(&reply).SetSeq(stamp.Seq)
	return reply, nil
}

// join turns an invitation into a worker. The worker's key is durable on return.
func (h *Hub) join(id string, p fleet.Join) (reply fleet.JoinReply, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w, now := h.workers[id], h.w.Env.Clock.Now()
	switch {
	case w.record.Invite == nil && p.PublicKey != "" && p.PublicKey == w.record.PublicKey:
		return h.joinReply(w), nil // the worker repeats the request: it lost the reply
	case w.record.Invite == nil || expired(w.record.Invite, now):
		return reply, fault.New(fleet.InviteSpent, "the invitation was used or has expired; ac worker:invite makes another one")
	case p.Nonce == "":
		if w.nonce, err = nonce(); err != nil {
			return reply, err
		}
		return fleet.JoinReply{Nonce: w.nonce, Settings: h.settings}, nil
	}
	signature, err := base64.RawURLEncoding.DecodeString(p.Signature)
	if err != nil || w.nonce == "" || p.Nonce != w.nonce || !fleet.VerifyRaw(p.PublicKey, fleet.JoinText(h.config.HubID, id, p.Nonce, p.PublicKey), signature) {
		return reply, fault.New(fault.Denied, "the new key did not sign the hub's nonce")
	}
	by := w.record.Invite.PublicKey
	if err := h.amend(w, func(r *fleet.WorkerRecord) {
		r.PublicKey, r.Instance, r.State, r.JoinedAt, r.Invite = p.PublicKey, p.Instance, fleet.WorkerActive, clock.Stamp(now), nil
	}); err != nil {
		return reply, err
	}
	w.nonce, w.joinedBy, w.joinedAt = "", by, now
	if err := h.admit(); err != nil {
		return reply, err
	}
	return h.joinReply(w), nil
}

func (h *Hub) joinReply(w *worker) fleet.JoinReply {
	return fleet.JoinReply{
		HubID: h.config.HubID, WorkerID: w.record.ID, Name: w.record.Name, Labels: w.record.Labels, Slots: w.record.Slots, Settings: h.settings,
	}
}

// handleHello handles the hello that a worker sends after connecting.
func (h *Hub) handleHello(ctx context.Context, id string, p fleet.Hello) (reply fleet.HelloReply, err error) {
	protocol, ok := versions(p.Protocol).Common(versions(h.o.Speaks.Protocol))
	h.mu.Lock()
	w := h.workers[id]
	if !ok {
		err := h.incompatible(w, p)
		h.mu.Unlock()
		h.wakeTick() // reconsider the queue without this worker
		return reply, err
	}
	if w.instance != "" && w.instance != p.Instance && h.online(w) {
		h.mu.Unlock()
		return reply, fault.New(fleet.DuplicateWorker, "worker %s runs on another machine; each machine needs an invitation of its own", w.record.Name)
	}
	w.instance, w.hello, w.versionErr, w.seen = p.Instance, &p, nil, h.o.Elapsed()
	w.beat.DiskFree = -1
	w.introduce(p, h.now())
	err = h.amend(w, func(r *fleet.WorkerRecord) {
		r.Instance, r.Last = p.Instance, lastSeen(p, w.offset, h.w.Env.Clock.Now())
	})
	order, _ := h.orderVersion(w)
	reply = fleet.HelloReply{
		Protocol: protocol, Order: order, Hub: fleet.HubVersion{Boot: h.boot, Version: h.o.Version}, Attempts: map[string]fleet.AttemptReply{},
		Settings: h.settings, Slots: w.record.Slots, Name: w.record.Name, Drain: w.record.State == fleet.WorkerDraining,
	}
	h.mu.Unlock()
	if err != nil {
		return reply, err
	}
	for _, a := range p.Attempts {
		if a.NeverStarted {
			h.giveUp(ctx, id, a.Attempt, withdrawnNeverStarted)
		}
		h.recordLastDraft(id, a)
		reply.Attempts[a.Attempt] = h.stateOf(id, a.Attempt)
	}
	h.markReachable(ctx, id)
	h.wakeTick()
	return reply, nil
}

// recordLastDraft records how many drafts of an attempt a worker has. A worker that cannot read its spool
// reports 0.
func (h *Hub) recordLastDraft(id string, a fleet.HelloAttempt) {
	if l := h.byAttempt(id, a.Attempt); l != nil && a.LastN > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sealing.setMaxFound(a.LastN)
	}
}

func lastSeen(p fleet.Hello, offset int64, now time.Time) *fleet.LastSeen {
	last := &fleet.LastSeen{
		SeenAt: clock.Stamp(now), Version: p.Version, Protocol: p.Protocol[1], Orders: p.Orders[:], OS: p.OS, Arch: p.Arch, CPUs: p.CPUs,
		Secrets: p.Secrets, ClockOffsetMS: offset,
	}
	for name, probe := range p.Providers {
		if probe.OK {
			last.Providers = append(last.Providers, name)
		}
	}
	for id := range p.Repos {
		last.Repos = append(last.Repos, id)
	}
	slices.Sort(last.Providers)
	slices.Sort(last.Repos)
	return last
}

// Limits on how often the hub writes a worker's record: at most every recordEvery, and only every
// seenEvery if nothing but the time changed. With 200 workers that is about three writes a
// second.
const (
	recordEvery = time.Minute
	seenEvery   = 10 * time.Minute
)

// handleBeat handles a beat.
func (h *Hub) handleBeat(id string, p fleet.Beat) (reply fleet.BeatReply, err error) {
	now := h.now()
	h.mu.Lock()
	w := h.workers[id]
	if w.versionErr != nil {
		err := w.versionErr
		h.mu.Unlock()
		return reply, err
	}
	if w.hello == nil {
		h.mu.Unlock()
		return reply, fault.New(fault.Conflict, "a hello comes first")
	}
	w.seen, w.beat, w.rtt = h.o.Elapsed(), p, p.RTTMS
	if p.Repos != nil {
		w.hello.Repos = p.Repos
	}
	w.measure(now - p.NowMS - int64(p.RTTMS/2))
	if age, last := h.o.Elapsed()-w.written, w.record.Last; age > seenEvery || age > recordEvery && (p.Repos != nil || last == nil || last.ClockOffsetMS != w.offset) {
		_ = h.amend(w, func(r *fleet.WorkerRecord) { r.Last = lastSeen(*w.hello, w.offset, h.w.Env.Clock.Now()) }) // best effort: later beats repeat it
	}
	settings := h.settings
	reply = fleet.BeatReply{
		NowMS: now, Lease: map[string]int64{}, Sealed: map[string]int64{}, Drain: w.record.State == fleet.WorkerDraining, Settings: &settings,
		NextMS: fleet.NextBeat(id, len(h.workers), settings.Beat(), h.o.Elapsed()+time.Duration(p.RTTMS*float64(time.Millisecond))).Milliseconds(),
	}
	idle := len(p.Attempts) == 0 && len(h.launches) == 0 && len(h.waiting) == 0
	h.mu.Unlock()
	if idle {
		return reply, nil // a look would find nothing to do
	}
	for attempt := range p.Attempts {
		h.beatOf(id, attempt, p.Attempts[attempt], &reply)
	}
	h.markReachable(h.ctx, id)
	h.wakeTick()
	return reply, nil
}

// builtIn returns the labels that a worker has automatically.
func builtIn(p fleet.Hello) []string {
	list := []string{"os=" + p.OS, "arch=" + p.Arch}
	for name, probe := range p.Providers {
		if probe.OK {
			list = append(list, "provider="+name)
		}
	}
	for _, name := range p.Secrets {
		list = append(list, "secret="+name)
	}
	return slices.DeleteFunc(list, func(label string) bool { return !fleet.IsLabel(label) })
}
