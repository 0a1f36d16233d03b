package carrier

// Repair of streams. After a full disk or a failed write, the embedded server does not write
// to the stream again until it is restarted. The hub recreates such a stream instead. Its
// content is not missed: workers send again what is not sealed, and an unclaimed order goes to
// another worker.

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Pauses between probes of streams that may be broken.
const (
	mendSoonest = time.Second
	mendLatest  = 30 * time.Second
)

const (
	ensureWithin = time.Minute
	// silences is how many looks in a row a stream must not answer before it is made anew: a
	// disk that is only slow leaves one or two without an answer.
	silences = 3
	// room is what a disk must take before a stream is made anew.
	room = 4 << 20
	// nobody is the worker of a message that nobody reads.
	nobody = "nobody"
)

// mender looks after streams that the server named in an error of a store.
type mender struct {
	hasRoom func() bool
	probe   func(stream string) error // writes to it
	renew   func(stream string) error // deletes it and makes it
	ensure  func() error              // makes what is missing
	log     *slog.Logger

	suspects map[string]int // looks in a row that a stream did not answer
	full     bool           // the disk took nothing at the last look
}

// mend looks at streams once the embedded server says that their stores failed.
func (h *Hub) mend() {
	m := mender{hasRoom: h.options.Server.hasRoom, probe: h.probe, renew: h.renew, ensure: h.ensureAgain, log: h.options.Log, suspects: map[string]int{}}
	broken := &h.options.Server.broken
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-broken.news:
		}
		for wait := mendSoonest; ; {
			m.suspect(broken.take())
			if len(m.suspects) == 0 {
				break
			}
			select {
			case <-h.ctx.Done():
				return
			case <-time.After(wait):
			}
			wait = m.next(wait)
		}
	}
}

// suspect adds streams to those to look at.
func (m *mender) suspect(streams []string) {
	for _, stream := range streams {
		if _, known := m.suspects[stream]; !known {
			m.suspects[stream] = 0
		}
	}
}

// next looks at all suspects, and returns the pause before the next look: twice the last one,
// but the shortest when the disk has room again.
func (m *mender) next(waited time.Duration) time.Duration {
	was := m.full
	if m.full = !m.hasRoom(); m.full {
		return min(2*waited, mendLatest)
	}
	for stream := range m.suspects {
		if err := m.look(stream); err != nil && !errors.Is(err, context.Canceled) {
			m.log.Warn("a stream of the carrier cannot be made anew", "stream", stream, "error", err)
		}
	}
	if was {
		return mendSoonest
	}
	return min(2*waited, mendLatest)
}

// look writes to a stream. One that takes it is none of the suspects any more; one that is
// missing, or was silent too often, is made anew and looked at again.
func (m *mender) look(stream string) error {
	err := m.probe(stream)
	_, answered := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound):
		return m.ensure()
	case err == nil || answered: // one that refuses, as one that is full does, can be written to
		delete(m.suspects, stream)
		return nil
	case !silent(err):
		return err
	}
	if m.suspects[stream]++; m.suspects[stream] < silences {
		return nil
	}
	m.log.Warn("a stream of the carrier cannot be written; it is made anew", "stream", stream, "error", err)
	m.suspects[stream] = 0
	return m.renew(stream)
}

// silent reports whether a stream answered nothing, as one does whose store failed.
func silent(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

// probe writes a message that nobody reads, and removes it. A stream that is none of the
// hub's has no fault.
func (h *Hub) probe(stream string) error {
	subject, known := h.probes()[stream]
	if !known {
		return nil
	}
	ctx, cancel := context.WithTimeout(h.ctx, askWithin)
	defer cancel()
	ack, err := h.js.Publish(ctx, subject, nil, jetstream.WithExpectStream(stream))
	if err != nil {
		return err
	}
	if s, err := h.js.Stream(ctx, stream); err == nil {
		_ = s.DeleteMsg(ctx, ack.Sequence) // the ingester may have been faster; an order is dropped after its time
	}
	return nil
}

// probes are the subjects of messages that nobody reads, by stream.
func (h *Hub) probes() map[string]string {
	subjects := map[string]string{h.subjects.OrdersStream(): h.subjects.Order(nobody, nobody), h.subjects.DraftsStream(): h.subjects.Draft(nobody, nobody)}
	for _, worker := range h.options.Workers() {
		bucket := h.subjects.Bucket(worker)
		subjects[streamOf(bucket)] = objectsOf(bucket) + ".C." + nobody
	}
	return subjects
}

// renew makes a stream anew.
func (h *Hub) renew(stream string) error {
	h.making.Lock()
	defer h.making.Unlock()
	ctx, cancel := context.WithTimeout(h.ctx, askWithin)
	err := h.js.DeleteStream(ctx, stream)
	cancel()
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	ctx, cancel = context.WithTimeout(h.ctx, ensureWithin)
	defer cancel()
	return h.ensure(ctx)
}

func (h *Hub) ensureAgain() error {
	ctx, cancel := context.WithTimeout(h.ctx, ensureWithin)
	defer cancel()
	return h.Ensure(ctx)
}

// hasRoom reports whether the disk of the store takes something.
func (s *Server) hasRoom() bool {
	f, err := os.CreateTemp(s.options.StoreDir, "room-")
	if err != nil {
		return false
	}
	_, err = f.Write(make([]byte, room))
	return errors.Join(err, f.Close(), os.Remove(f.Name())) == nil
}
