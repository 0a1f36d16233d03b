package carrier_test

// Objects are put once and read whole, even over slow or interrupted connections.

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/fleet"
	"ac/internal/fault"
)

// TestAnObjectIsPutOnce checks that a reader gets the whole object while others put it again, as
// two sessions from one commit do.
func TestAnObjectIsPutOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, ctx := w.connect(alice), t.Context()
	text := bytes.Repeat([]byte("0123456789"), 1<<15)
	for i := range 10 {
		name := fmt.Sprintf("src-%d", i)
		put := func() {
			if err := w.hub.Put(ctx, alice, name, bytes.NewReader(text)); err != nil {
				t.Error(err)
			}
		}
		put()
		var all sync.WaitGroup
		for range 4 {
			all.Go(put)
			all.Go(func() {
				var got bytes.Buffer
				if err := c.Get(ctx, name, &got); err != nil || !bytes.Equal(got.Bytes(), text) {
					t.Errorf("%d of %d bytes: %v", got.Len(), len(text), err)
				}
			})
		}
		all.Wait()
	}
}

// late is a writer that pauses before its first write.
type late struct {
	bytes.Buffer
	pause time.Duration
}

func (l *late) Write(p []byte) (int, error) {
	time.Sleep(l.pause)
	l.pause = 0
	return l.Buffer.Write(p)
}

// TestAnObjectMayTakeLong checks that a read may take longer than a request, as over a slow
// connection.
func TestAnObjectMayTakeLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, ctx := w.connect(alice), t.Context()
	text := bytes.Repeat([]byte("0123456789"), 1<<17)
	if err := w.hub.Put(ctx, alice, "src-x", bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	got := late{pause: 5500 * time.Millisecond}
	if err := c.Get(ctx, "src-x", &got); err != nil || !bytes.Equal(got.Bytes(), text) {
		t.Errorf("%d of %d bytes: %v", got.Len(), len(text), err)
	}
}

// cut stops the server, starts it again, and waits until the worker has reconnected.
func (w *world) cut(c fleet.WorkerCarrier) {
	select {
	case <-c.Connections(): // the first one
	default:
	}
	w.stop()
	w.start()
	<-c.Connections()
}

// ahead calls do before its first write.
type ahead struct {
	bytes.Buffer
	once sync.Once
	do   func()
}

func (a *ahead) Write(p []byte) (int, error) {
	a.once.Do(a.do)
	return a.Buffer.Write(p)
}

// TestAnObjectIsReadAgainAfterACut checks that a read fails after a cut and does not wait for lost
// chunks. The next read succeeds.
func TestAnObjectIsReadAgainAfterACut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connect(alice)
	text := bytes.Repeat([]byte("0123456789"), 1<<20)
	if err := w.hub.Put(t.Context(), alice, "in-x", bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	got := &ahead{do: func() { w.cut(c) }}
	err := c.Get(t.Context(), "in-x", got)
	if err == nil || !fault.Is(err, fleet.CarrierUnavailable) || strings.Contains(err.Error(), "nothing of it came") {
		t.Errorf("%d of %d bytes: %v", got.Len(), len(text), err)
	}
	got.Reset()
	if err := c.Get(t.Context(), "in-x", got); err != nil || !bytes.Equal(got.Bytes(), text) {
		t.Errorf("%d of %d bytes: %v", got.Len(), len(text), err)
	}
}

// behind calls do once everything was read.
type behind struct {
	from *bytes.Reader
	once sync.Once
	do   func()
}

func (b *behind) Read(p []byte) (int, error) {
	if b.from.Len() == 0 {
		b.once.Do(b.do)
	}
	return b.from.Read(p)
}

// TestAnObjectIsPutAgainAfterACut checks that a put does not wait for messages that were lost with
// the connection. A retry succeeds.
func TestAnObjectIsPutAgainAfterACut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connect(alice)
	text := bytes.Repeat([]byte("0123456789"), 1<<20)
	err := c.Put(t.Context(), "out-x", &behind{from: bytes.NewReader(text), do: func() { w.cut(c) }})
	if err != nil && strings.Contains(err.Error(), "nothing of it came") {
		t.Error(err)
	}
	for err != nil {
		err = c.Put(t.Context(), "out-x", bytes.NewReader(text))
	}
	var got bytes.Buffer
	if err := w.hub.Get(t.Context(), alice, "out-x", &got); err != nil || !bytes.Equal(got.Bytes(), text) {
		t.Errorf("%d of %d bytes: %v", got.Len(), len(text), err)
	}
}
