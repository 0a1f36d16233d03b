package carrier

// Repair of streams. After a full disk or a failed write, the embedded server no longer writes to
// the stream until it is restarted. The hub recreates such a stream instead. Losing its content
// is harmless: workers resend unsealed drafts, and an unclaimed order goes to another worker.

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bounds of the pause between probes of suspect streams.
const (
	mendSoonest = time.Second
	mendLatest  = 30 * time.Second
)

const (
	ensureWithin = time.Minute
	// maxSilentProbes is how many probes in a row must go unanswered before a stream is recreated. A
	// disk that is merely slow leaves one or two unanswered.
	maxSilentProbes = 3
	// roomBytes is how many bytes the disk must accept before a stream is recreated.
	roomBytes = 4 << 20
	// nobody is the worker in the subject of a probe.
	nobody = "nobody"
)

// mender probes and recreates streams whose stores failed according to the server.
type mender struct {
	hasRoom func() bool
	probe   func(stream string) error // writes a message to it
	renew   func(stream string) error // deletes and recreates it
	ensure  func() error              // creates missing streams
	log     *slog.Logger

	suspects map[string]int // stream to consecutive unanswered probes
	full     bool           // the disk had no room at the last check
}

// mend waits until the embedded server reports failed stores, then probes their streams until all
// are repaired.
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
			m.suspect(broken.drain())
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

// suspect adds streams to the suspects.
func (m *mender) suspect(streams []string) {
	for _, stream := range streams {
		if _, known := m.suspects[stream]; !known {
			m.suspects[stream] = 0
		}
	}
}

// next probes all suspects and returns the pause before the next round. The pause doubles, and is
// the shortest once the disk has room again.
func (m *mender) next(waited time.Duration) time.Duration {
	was := m.full
	if m.full = !m.hasRoom(); m.full {
		return min(2*waited, mendLatest)
	}
	for stream := range m.suspects {
		if err := m.probeStream(stream); err != nil && !errors.Is(err, context.Canceled) {
			m.log.Warn("a stream of the carrier cannot be made anew", "stream", stream, "error", err)
		}
	}
	if was {
		return mendSoonest
	}
	return min(2*waited, mendLatest)
}

// probeStream probes a stream. If the stream answers, it is no longer a suspect. If it is missing or was
// silent too often, look recreates it and keeps it as a suspect.
func (m *mender) probeStream(stream string) error {
	err := m.probe(stream)
	_, answered := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound):
		return m.ensure()
	case err == nil || answered: // a refusal, for example by a full stream, also proves that it works
		delete(m.suspects, stream)
		return nil
	case !isNoReply(err):
		return err
	}
	if m.suspects[stream]++; m.suspects[stream] < maxSilentProbes {
		return nil
	}
	m.log.Warn("a stream of the carrier cannot be written; it is made anew", "stream", stream, "error", err)
	m.suspects[stream] = 0
	return m.renew(stream)
}

// isNoReply reports whether an error is a missing reply, the symptom of a failed store.
func isNoReply(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

// probe writes a message that nobody reads, and removes it. It reports no error for a stream that
// is not the hub's.
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
		_ = s.DeleteMsg(ctx, ack.Sequence) // the ingester may have consumed it; an order expires
	}
	return nil
}

// probes returns the subject of probe messages for each stream.
func (h *Hub) probes() map[string]string {
	subjects := map[string]string{h.subjects.OrdersStream(): h.subjects.Order(nobody, nobody), h.subjects.DraftsStream(): h.subjects.Draft(nobody, nobody)}
	for _, worker := range h.options.Workers() {
		bucket := h.subjects.Bucket(worker)
		subjects[streamOf(bucket)] = objectsOf(bucket) + ".C." + nobody
	}
	return subjects
}

// renew deletes and recreates a stream.
func (h *Hub) renew(stream string) error {
	h.streamsMu.Lock()
	defer h.streamsMu.Unlock()
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

// hasRoom reports whether the store's disk accepts a file of room bytes.
func (s *Server) hasRoom() bool {
	f, err := os.CreateTemp(s.options.StoreDir, "room-")
	if err != nil {
		return false
	}
	_, err = f.Write(make([]byte, roomBytes))
	return errors.Join(err, f.Close(), os.Remove(f.Name())) == nil
}
