package carrier_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"ac/fleet/carrier"
)

// TestSlowConnections: a worker waits for a hub that takes more than two seconds to answer, as
// one does on a busy machine or behind a bad network.
func TestSlowConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	relay, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			near, err := relay.Accept()
			if err != nil {
				return
			}
			passing.Go(func() { passLate(near, w.listen, 2500*time.Millisecond) })
		}
	})
	t.Cleanup(func() {
		_ = relay.Close() // no other connection comes
		passing.Wait()
	})
	link := w.link(alice)
	link.URLs = []string{"tls://" + relay.Addr().String()}
	c, err := carrier.ConnectWorker(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	<-c.Connections()
	c.Close()
}

// TestAnObjectIsSentAsItIsStored: a server that stores more slowly than it is sent to is not sent
// more than a few pieces ahead. It would drop what it does not keep in memory.
func TestAnObjectIsSentAsItIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	relay, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var answers sync.Mutex // held while none passes
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			near, err := relay.Accept()
			if err != nil {
				return
			}
			passing.Go(func() { passHeld(near, w.listen, &answers) })
		}
	})
	link := w.link(alice)
	link.URLs = []string{"tls://" + relay.Addr().String()}
	c, err := carrier.ConnectWorker(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		_ = relay.Close() // no other connection comes
		passing.Wait()
	})
	const size, few = 32 << 20, 8 << 20
	from := &held{left: size, answers: &answers, few: few}
	if err := c.Put(t.Context(), "out-x", from); err != nil {
		t.Fatal(err)
	}
	if from.ahead > few {
		t.Errorf("%d bytes were sent of which none was known to be stored", from.ahead)
	}
	got := &counting{}
	if err := w.hub.Get(t.Context(), alice, "out-x", got); err != nil || got.n != size {
		t.Errorf("%d of %d bytes came: %v", got.n, size, err)
	}
}

// held is a file at whose second piece answers of the server are held for a while, and that
// counts what is read of it meanwhile.
type held struct {
	left, ahead, few int
	began            bool
	answers          *sync.Mutex
	over             chan struct{}
}

func (h *held) Read(p []byte) (int, error) {
	if h.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), h.left)
	switch {
	case !h.began:
		h.began, h.over = true, make(chan struct{})
		h.answers.Lock()
		time.AfterFunc(2*time.Second, func() { // what is shown is a delay
			h.answers.Unlock()
			close(h.over)
		})
	case h.ahead <= h.few:
		select {
		case <-h.over:
		default:
			h.ahead += n
		}
	}
	h.left -= n
	return n, nil
}

// counting counts what is written.
type counting struct{ n int }

func (c *counting) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

// passHeld passes on what both sides say; what the server says only while nobody holds it.
func passHeld(near net.Conn, to string, answers *sync.Mutex) {
	defer func() { _ = near.Close() }()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, near) // until one side is gone
		_, _ = far.Close(), near.Close()
	})
	both.Go(func() {
		text := make([]byte, 1<<16)
		for {
			n, err := far.Read(text)
			if err != nil {
				break
			}
			answers.Lock()
			_, err = near.Write(text[:n])
			answers.Unlock()
			if err != nil {
				break
			}
		}
		_, _ = far.Close(), near.Close()
	})
	both.Wait()
}

// passLate passes on what both sides say, the first of it late, until one of them is gone.
func passLate(near net.Conn, to string, late time.Duration) {
	defer func() { _ = near.Close() }()
	time.Sleep(late) // what is shown is a delay
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // until one side is gone
			_, _ = pair[0].Close(), pair[1].Close()
		})
	}
	both.Wait()
}
