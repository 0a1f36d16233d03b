package carrier_test

import (
	"net"
	"sync"
	"testing"

	"ac/fleet/carrier"
)

// TestASilentConnectionIsMadeAnew checks that a worker detects a dead connection that nobody
// closed, as after a network cut, and reconnects.
func TestASilentConnectionIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	relay, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var silence sync.Mutex // held while no answer is forwarded
	again := sync.OnceFunc(silence.Unlock)
	var passing sync.WaitGroup
	passing.Go(func() {
		for connections := 1; ; connections++ {
			near, err := relay.Accept()
			if err != nil {
				return
			}
			if connections > 1 {
				again()
			}
			passing.Go(func() { passHeld(near, w.listen, &silence) })
		}
	})
	link := w.link(alice)
	link.URLs = []string{"tls://" + relay.Addr().String()}
	c, err := carrier.ConnectWorker(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	<-c.Connections()
	silence.Lock()
	<-c.Connections()
	c.Close()
	_ = relay.Close() // accept no more connections
	passing.Wait()
}
