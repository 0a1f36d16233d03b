package worker

// A hub in memory: it grants claims, seals drafts in order, settles ends, and can be cut
// off.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"ac/fleet"
	"ac/internal/fault"
)

// fakeHub is a hub for one worker.
type fakeHub struct {
	t  *testing.T
	mu sync.Mutex
	// cut: nothing is heard in either direction.
	cut bool
	// deaf: claims are not answered; unheard counts them.
	deaf     bool
	unheard  int
	attempts map[string]*fakeAttempt
	objects  map[string][]byte
	seen     map[string]bool
	queue    []fleet.OrderMessage
	acked    map[string]int
	putBack  map[string]int
	queued   chan struct{}
	changed  chan struct{} // closed at each change, and made anew
	links    []*fakeLink
	hellos   []fleet.Hello
	settings fleet.Settings
	drain    bool
	refuse   fault.Reason // of hellos
	beats    int
	tells    int64
	lastBeat fleet.Beat
	limits   map[string]fleet.Allowance
}

// fakeAttempt is an attempt as the hub knows it.
type fakeAttempt struct {
	granted  bool
	claims   int
	gaveUp   []fleet.GiveUp
	refused  string // why claims are refused
	waits    bool   // what it gave up is not placed anew yet
	fenced   bool
	stop     bool
	drafts   []fleet.Draft
	specs    int
	record   fleet.Record
	end      *fleet.End
	keepOpen bool // its end is not settled
	taken    bool // its objects are taken
}

func newFakeHub(t *testing.T) *fakeHub {
	t.Helper()
	return &fakeHub{
		t: t, attempts: map[string]*fakeAttempt{}, objects: map[string][]byte{}, seen: map[string]bool{}, acked: map[string]int{}, putBack: map[string]int{},
		queued: make(chan struct{}, 1), changed: make(chan struct{}), limits: map[string]fleet.Allowance{},
		settings: fleet.Settings{BeatMS: 100, UnreachableAfterMS: 300, LeaseMarginMS: 5000},
	}
}

// note tells those who wait that something changed. It runs with the hub locked.
func (h *fakeHub) note() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// until waits for a state of the hub.
func (h *fakeHub) until(what string, reached func() bool) {
	h.t.Helper()
	for {
		h.mu.Lock()
		ok, changed := reached(), h.changed
		h.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-h.t.Context().Done():
			h.t.Fatalf("never: %s", what)
		}
	}
}

// beatsNow is how many beats came.
func (h *fakeHub) beatsNow() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.beats
}

// do changes the hub.
func (h *fakeHub) do(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	h.note()
}

func (h *fakeHub) attempt(id string) *fakeAttempt {
	a := h.attempts[id]
	if a == nil {
		a = &fakeAttempt{taken: true}
		h.attempts[id] = a
	}
	return a
}

// order queues an order.
func (h *fakeHub) order(o fleet.Order) {
	h.t.Helper()
	body, err := json.Marshal(o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.do(func() {
		h.attempt(o.Attempt)
		message := fleet.OrderMessage{Attempt: o.Attempt, Body: body}
		message.Ack = func(context.Context) error {
			h.do(func() { h.acked[o.Attempt]++ })
			return nil
		}
		message.Later = func() error {
			h.do(func() { h.putBack[o.Attempt]++ })
			time.AfterFunc(5*time.Millisecond, func() { h.do(func() { h.queue = append(h.queue, message) }) })
			return nil
		}
		h.queue = append(h.queue, message)
	})
}

var errCut = fault.New(fleet.CarrierUnavailable, "cut")

// fakeLink is the connection of one process of the worker.
type fakeLink struct {
	hub         *fakeHub
	link        fleet.WorkerLink
	connections chan struct{}
	closed      bool
}

func (h *fakeHub) connect(_ context.Context, link fleet.WorkerLink) (fleet.WorkerCarrier, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cut {
		return nil, errCut
	}
	l := &fakeLink{hub: h, link: link, connections: make(chan struct{}, 1)}
	l.connections <- struct{}{}
	h.links = append(h.links, l)
	return l, nil
}

// mend ends a cut.
func (h *fakeHub) mend() {
	h.do(func() {
		h.cut = false
		for _, l := range h.links {
			if l.closed {
				continue
			}
			select {
			case l.connections <- struct{}{}:
			default:
			}
		}
	})
}

// tell tells the newest process of the worker something.
func (h *fakeHub) tell(attempt, verb string, params any) fleet.TellReply {
	h.t.Helper()
	text, err := json.Marshal(params)
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	l := h.links[len(h.links)-1]
	h.tells++
	seq := h.tells
	h.mu.Unlock()
	body, err := json.Marshal(fleet.Tell{Stamp: fleet.Stamp{Boot: "hub", Seq: seq}, Params: text})
	if err != nil {
		h.t.Fatal(err)
	}
	var reply fleet.TellReply
	if err := json.Unmarshal(l.link.Tell(h.t.Context(), attempt, verb, body), &reply); err != nil || reply.Seq != seq {
		h.t.Fatalf("the answer to %s is %+v, %v", verb, reply, err)
	}
	return reply
}

func (l *fakeLink) Connections() <-chan struct{} { return l.connections }

func (l *fakeLink) Close() {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.connections)
	}
}

func (l *fakeLink) Ask(_ context.Context, verb string, body []byte) ([]byte, error) {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.note()
	if h.deaf && verb == fleet.AskClaim {
		h.unheard++
	}
	if h.cut || l.closed || h.deaf && verb == fleet.AskClaim {
		return nil, errCut
	}
	reply, err := h.answer(verb, body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(reply)
}

// answer runs with the hub locked.
func (h *fakeHub) answer(verb string, body []byte) (any, error) {
	var stamp fleet.Stamp
	if err := json.Unmarshal(body, &stamp); err != nil || stamp.Boot == "" || stamp.Seq == 0 {
		return nil, errors.Join(err, errors.New("no stamp"))
	}
	ok := fleet.Reply{Seq: stamp.Seq}
	switch verb {
	case fleet.AskHello:
		var hello fleet.Hello
		if err := json.Unmarshal(body, &hello); err != nil {
			return nil, err
		}
		if h.refuse != "" {
			return fleet.HelloReply{Reply: fleet.Reply{Seq: stamp.Seq, Reason: string(h.refuse), Error: "no"}}, nil
		}
		h.hellos = append(h.hellos, hello)
		reply := fleet.HelloReply{Reply: ok, Settings: h.settings, Drain: h.drain, Hub: fleet.HubVersion{Boot: "hub"}, Attempts: map[string]fleet.AttemptReply{}}
		for _, said := range hello.Attempts {
			a := h.attempt(said.Attempt)
			reply.Attempts[said.Attempt] = fleet.AttemptReply{Sealed: int64(len(a.drafts)), Stop: a.stop, Fenced: a.fenced, Settled: a.end != nil && !a.keepOpen}
		}
		return reply, nil
	case fleet.AskBeat:
		return h.beat(ok, body)
	case fleet.AskClaim:
		return h.claim(ok, body)
	case fleet.AskObject:
		var ask fleet.ObjectAsk
		err := json.Unmarshal(body, &ask)
		return fleet.ObjectReply{Reply: ok, Taken: h.attempt(ask.Attempt).taken}, err
	}
	return nil, errors.New("unknown verb " + verb)
}

func (h *fakeHub) beat(ok fleet.Reply, body []byte) (any, error) {
	var beat fleet.Beat
	if err := json.Unmarshal(body, &beat); err != nil {
		return nil, err
	}
	h.beats++
	h.lastBeat = beat
	reply := fleet.BeatReply{Reply: ok, Lease: map[string]int64{}, Sealed: map[string]int64{}, Drain: h.drain, Limits: h.limits}
	for id := range beat.Attempts {
		a := h.attempt(id)
		reply.Sealed[id] = int64(len(a.drafts))
		if a.stop {
			reply.Stop = append(reply.Stop, id)
		}
		if a.fenced {
			reply.Fenced = append(reply.Fenced, id)
		}
		if a.end != nil && !a.keepOpen {
			reply.Settled = append(reply.Settled, id)
		}
	}
	return reply, nil
}

func (h *fakeHub) claim(ok fleet.Reply, body []byte) (any, error) {
	var ask fleet.GiveUp
	if err := json.Unmarshal(body, &ask); err != nil {
		return nil, err
	}
	a := h.attempt(ask.Attempt)
	if ask.NeverStarted || ask.Refused != "" {
		a.gaveUp = append(a.gaveUp, ask)
		if a.waits {
			return fleet.ClaimReply{Reply: fleet.Reply{Seq: ok.Seq, Reason: string(fleet.NoWorker), Error: "not yet"}}, nil
		}
		return fleet.ClaimReply{Reply: ok, Answer: fleet.Refused}, nil
	}
	a.claims++
	if a.refused != "" || len(a.gaveUp) > 0 {
		return fleet.ClaimReply{Reply: fleet.Reply{Seq: ok.Seq, Reason: "fenced", Error: a.refused}, Answer: fleet.Refused}, nil
	}
	a.granted = true
	return fleet.ClaimReply{Reply: ok, Answer: fleet.Granted, LeaseS: 3600, OnCutOff: fleet.CutOffStop}, nil
}

func (l *fakeLink) Publish(ctx context.Context, attempt, id string, body []byte) (stored func(context.Context) error, err error) {
	if err := l.publish(ctx, attempt, id, body); err != nil {
		return nil, err
	}
	return func(context.Context) error { return nil }, nil
}

func (l *fakeLink) publish(ctx context.Context, attempt, id string, body []byte) error {
	h := l.hub
	h.mu.Lock()
	if h.cut || l.closed {
		h.mu.Unlock()
		return errCut
	}
	if h.seen[id] {
		h.mu.Unlock()
		return nil
	}
	h.seen[id] = true
	a := h.attempt(attempt)
	gap, err := a.take(body)
	n, settled := int64(len(a.drafts)), a.end != nil && !a.keepOpen
	h.note()
	h.mu.Unlock()
	if err != nil {
		h.t.Errorf("a batch cannot be read: %v", err)
	}
	if gap {
		text, err := json.Marshal(fleet.Resend{Attempt: attempt, From: n + 1})
		if err == nil {
			l.link.Tell(ctx, "", fleet.TellResend, text)
		}
		return err
	}
	sealed := fleet.Sealed{Sealed: map[string]int64{attempt: n}}
	if settled {
		sealed.Settled = []string{attempt}
	}
	text, err := json.Marshal(sealed)
	if err == nil {
		l.link.Tell(ctx, "", fleet.TellSealed, text)
	}
	return err
}

// take takes a batch or an end; gap says that drafts before it are missing.
func (a *fakeAttempt) take(body []byte) (gap bool, err error) {
	var end fleet.End
	if err := json.Unmarshal(body, &end); err != nil {
		return false, err
	}
	if end.End {
		if end.N > int64(len(a.drafts)) {
			return true, nil
		}
		a.end = &end
		return false, nil
	}
	var batch fleet.Batch
	if err := json.Unmarshal(body, &batch); err != nil {
		return false, err
	}
	if batch.First > int64(len(a.drafts))+1 {
		return true, nil
	}
	for i, d := range batch.Drafts {
		if batch.First+int64(i) == int64(len(a.drafts))+1 {
			a.drafts = append(a.drafts, d)
		}
	}
	if batch.Spec != nil {
		a.specs++
	}
	if batch.Record != nil {
		a.record = *batch.Record
	}
	return false, nil
}

func (l *fakeLink) NextOrder(ctx context.Context) (fleet.OrderMessage, error) {
	h := l.hub
	for {
		h.mu.Lock()
		if len(h.queue) > 0 && !h.cut && !l.closed {
			next := h.queue[0]
			h.queue = slices.Delete(h.queue, 0, 1)
			h.mu.Unlock()
			return next, nil
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fleet.OrderMessage{}, context.Cause(ctx)
		}
	}
}

func (l *fakeLink) Has(_ context.Context, name string) (bool, error) {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cut {
		return false, errCut
	}
	_, ok := h.objects[name]
	return ok, nil
}

func (l *fakeLink) Put(_ context.Context, name string, from io.Reader) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cut {
		return errCut
	}
	h.objects[name] = text
	return nil
}

func (l *fakeLink) Get(_ context.Context, name string, to io.Writer) error {
	h := l.hub
	h.mu.Lock()
	text, ok := h.objects[name]
	h.mu.Unlock()
	if !ok {
		return fault.New(fault.NotFound, "no object %s", name)
	}
	_, err := io.Copy(to, bytes.NewReader(text))
	return err
}

func (l *fakeLink) Delete(_ context.Context, name string) error {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	// Kept, so that tests can look at it.
	h.acked["deleted "+name]++
	h.note()
	return nil
}
