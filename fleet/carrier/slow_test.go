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
