package carrier_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"ac/fleet/carrier"
)

// TestSlowConnections checks that a worker waits for a hub that takes more than two seconds to
// answer, as on a busy machine or over a bad network.
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
		_ = relay.Close() // accept no more connections
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

// TestAnObjectIsSentAsItIsStored checks backpressure: a put stays only a few chunks ahead of a
// server that stores slowly. The server would drop what it cannot keep in memory.
func TestAnObjectIsSentAsItIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	relay, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var answers sync.Mutex // held while no answer is forwarded
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
		_ = relay.Close() // accept no more connections
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

// held is a file whose first read holds back the server's answers for two seconds. It counts the
// bytes that are read in that time.
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
		time.AfterFunc(2*time.Second, func() { // the test simulates a delay
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

// passHeld forwards both directions. It forwards the server's answers only while nobody holds
// answers.
func passHeld(near net.Conn, to string, answers *sync.Mutex) {
	defer func() { _ = near.Close() }()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, near) // until one side closes
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

// passLate connects both sides after a delay and forwards both directions until one side closes.
func passLate(near net.Conn, to string, late time.Duration) {
	defer func() { _ = near.Close() }()
	time.Sleep(late) // the test simulates a delay
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // until one side closes
			_, _ = pair[0].Close(), pair[1].Close()
		})
	}
	both.Wait()
}
