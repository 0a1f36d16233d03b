package worker

// The connection of a worker to the in-memory hub, which can be cut.

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"

	"ac/fleet"
	"ac/internal/fault"
)

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

// mend ends a cut and reports a new connection on every open link.
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
	// The object stays, so that tests can inspect it.
	h.acked["deleted "+name]++
	h.note()
	return nil
}
