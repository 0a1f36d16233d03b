package carrier

// Objects whose chunks the server does not send.

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// silentStore is a store that has an object, but the first tries to read it yield nothing.
type silentStore struct {
	jetstream.ObjectStore
	tries int
}

func (s *silentStore) Get(context.Context, string, ...jetstream.GetObjectOpt) (jetstream.ObjectResult, error) {
	s.tries--
	return &silentObject{done: s.tries < 0}, nil
}

func (s *silentStore) GetInfo(context.Context, string, ...jetstream.GetObjectInfoOpt) (*jetstream.ObjectInfo, error) {
	return &jetstream.ObjectInfo{NUID: "n"}, nil
}

// silentObject is an object whose reads time out, unless done is set: then it has one chunk.
type silentObject struct {
	jetstream.ObjectResult
	done bool
	sent bool
}

func (o *silentObject) Read(p []byte) (int, error) {
	switch {
	case !o.done:
		return 0, nil // as the library does when a read's deadline passes
	case o.sent:
		return 0, io.EOF
	}
	o.sent = true
	return copy(p, "content"), nil
}

func (o *silentObject) Close() error { return nil }

// TestSilentServer checks that a try fails long before pieceWithin if the server answers but sends
// no chunks. Another try can then read the object.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	store := &silentStore{tries: 1}
	for _, want := range []error{errStalled, nil} {
		written, err := read(t.Context(), store, "n", "o", io.Discard, func() {})
		if !errors.Is(err, want) || (err == nil) != (written == 7) {
			t.Errorf("%d bytes: %v", written, err)
		}
	}
}
