package main

// A network between the hub and its workers that can be cut.

import (
	"io"
	"net"
	"sync"
	"testing"
)

// relay forwards connections to the hub, unless it is cut.
type relay struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex
	to    string
	cut   bool
	conns map[net.Conn]bool
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: listener, conns: map[net.Conn]bool{}}
	r.wg.Go(r.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		r.set(true)
		r.wg.Wait()
	})
	return r
}

// leadTo sets the hub's address.
func (r *relay) leadTo(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = address
}

// set cuts the network, or restores it.
func (r *relay) set(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut = cut; cut {
		for conn := range r.conns {
			_ = conn.Close()
		}
	}
}

func (r *relay) serve() {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		to, cut := r.to, r.cut
		r.mu.Unlock()
		hub, err := net.Dial("tcp", to)
		if cut || err != nil {
			_ = from.Close()
			if err == nil {
				_ = hub.Close()
			}
			continue
		}
		r.mu.Lock()
		r.conns[from], r.conns[hub] = true, true
		r.mu.Unlock()
		r.wg.Go(func() { r.pass(from, hub) })
		r.wg.Go(func() { r.pass(hub, from) })
	}
}

func (r *relay) pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = to.Close(), from.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, from)
}
