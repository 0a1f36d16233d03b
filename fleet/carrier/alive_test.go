package carrier_test

import (
	"net"
	"sync"
	"testing"

	"ac/fleet/carrier"
)

// TestASilentConnectionIsMadeAnew: nothing comes over a connection that nobody closed, as when
// the network is cut. The worker finds that out by itself and connects again.
func TestASilentConnectionIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	relay, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var silence sync.Mutex // held while no answer passes
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
	_ = relay.Close() // no other connection comes
	passing.Wait()
}
