package worker

// An in-memory hub. It grants claims, seals drafts in order and settles ends.

import (
	"context"
	"encoding/json"
	"errors"
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
	// cut drops everything in both directions.
	cut bool
	// deaf leaves claims unanswered. unheard counts them.
	deaf     bool
	unheard  int
	attempts map[string]*fakeAttempt
	objects  map[string][]byte
	seen     map[string]bool
	queue    []fleet.OrderMessage
	acked    map[string]int
	putBack  map[string]int
	queued   chan struct{}
	changed  chan struct{} // closed and replaced at each change
	links    []*fakeLink
	hellos   []fleet.Hello
	settings fleet.Settings
	drain    bool
	refuse   fault.Reason // if set, refuses hellos with this reason
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
	waits    bool   // a session that was given up is not yet placed again
	fenced   bool
	stop     bool
	drafts   []fleet.Draft
	specs    int
	record   fleet.Record
	end      *fleet.End
	keepOpen bool // do not settle the end
	taken    bool // the hub has taken its objects
}

func newFakeHub(t *testing.T) *fakeHub {
	t.Helper()
	return &fakeHub{
		t: t, attempts: map[string]*fakeAttempt{}, objects: map[string][]byte{}, seen: map[string]bool{}, acked: map[string]int{}, putBack: map[string]int{},
		queued: make(chan struct{}, 1), changed: make(chan struct{}), limits: map[string]fleet.Allowance{},
		settings: fleet.Settings{BeatMS: 100, UnreachableAfterMS: 300, LeaseMarginMS: 5000},
	}
}

// note wakes everyone who waits for a change. The caller must hold the hub's lock.
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

// beatsNow returns the number of beats received so far.
func (h *fakeHub) beatsNow() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.beats
}

// do changes the hub under its lock and wakes everyone who waits.
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

// tell sends a message to the worker's newest process and returns its reply.
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

// answer answers a request. The caller must hold the hub's lock.
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

// take accepts a batch or an end. gap reports that earlier drafts are missing.
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
