package carrier

// What the embedded server cannot do by itself: after a disk was full, or failed once, it
// writes to a stream no more until it is started again. The hub makes such a stream anew.
// Nothing counts that was in it: workers send what is not sealed, and an order that is not
// claimed is given to another worker.

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	mendEvery = time.Second
	// room is what a disk must take before a stream is made anew.
	room = 4 << 20
	// nobody is the worker of a message that nobody reads.
	nobody = "nobody"
)

// mend looks at the streams whenever the embedded server tells of an error.
func (h *Hub) mend() {
	for h.ctx.Err() == nil {
		select {
		case <-h.ctx.Done():
			return
		case <-h.options.Server.trouble:
		}
		for sound := false; !sound; {
			select {
			case <-h.ctx.Done():
				return
			case <-time.After(mendEvery):
			}
			sound = h.options.Server.hasRoom() && h.mendStreams()
		}
	}
}

// mendStreams makes the streams anew that cannot be written. It reports whether all can.
func (h *Hub) mendStreams() (sound bool) {
	subjects := map[string]string{h.subjects.OrdersStream(): h.subjects.Order(nobody, nobody), h.subjects.DraftsStream(): h.subjects.Draft(nobody, nobody)}
	for _, worker := range h.options.Workers() {
		bucket := h.subjects.Bucket(worker)
		subjects[streamOf(bucket)] = objectsOf(bucket) + ".C." + nobody
	}
	sound = true
	for stream, subject := range subjects {
		switch err := h.probe(stream, subject); {
		case err == nil:
		case !unwritable(err):
			sound = false
		default:
			h.options.Log.Warn("a stream of the carrier cannot be written; it is made anew", "stream", stream, "error", err)
			ctx, cancel := context.WithTimeout(h.ctx, askWithin)
			err := errors.Join(h.js.DeleteStream(ctx, stream), h.Ensure(ctx))
			cancel()
			if err != nil {
				h.options.Log.Warn("a stream of the carrier cannot be made anew", "stream", stream, "error", err)
				sound = false
			}
		}
	}
	return sound
}

// probe writes a message that nobody reads, and removes it.
func (h *Hub) probe(stream, subject string) error {
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

// unwritable reports whether a stream did not take a message because its store failed: the
// server answers nothing then.
func unwritable(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
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
