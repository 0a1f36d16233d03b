package ws

// Connections whose peer may read slowly, but must not stop reading.

import (
	"net"
	"sync"
	"time"
)

// chunk is the largest single write, in bytes.
const chunk = 64 << 10

// Patient wraps a listener. A connection of it is cut if the peer does not accept one chunk within
// patience. A whole write may take any time.
func Patient(l net.Listener, patience time.Duration) net.Listener {
	return patientListener{l, patience}
}

type patientListener struct {
	net.Listener
	patience time.Duration
}

func (l patientListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &patientConn{Conn: c, patience: l.patience}, nil
}

type patientConn struct {
	net.Conn
	patience time.Duration

	mu     sync.Mutex
	closed func()
	ended  bool
}

// OnClose registers a function to call once when a connection of a Patient listener is closed. If
// it is closed already, OnClose calls the function at once. For other connections it is a no-op.
func OnClose(c net.Conn, closed func()) {
	p, ok := c.(*patientConn)
	if !ok {
		return
	}
	p.mu.Lock()
	ended := p.ended
	if !ended {
		p.closed = closed
	}
	p.mu.Unlock()
	if ended {
		closed()
	}
}

// Close closes the connection.
func (c *patientConn) Close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed, c.ended = nil, true
	c.mu.Unlock()
	if closed != nil {
		closed()
	}
	return c.Conn.Close()
}

// abort closes a connection at once and discards unsent data. After a plain close the kernel would
// keep retrying that data as long as the peer does not read it.
func abort(c net.Conn) {
	if p, ok := c.(*patientConn); ok {
		if tcp, ok := p.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // best effort: it is closed in any case
		}
	}
	_ = c.Close() // nobody is left to report to
}

func (c *patientConn) Write(text []byte) (n int, err error) {
	for len(text) > 0 && err == nil {
		part := text[:min(len(text), chunk)]
		cut := time.AfterFunc(c.patience, func() { abort(c) })
		var wrote int
		wrote, err = c.Conn.Write(part)
		cut.Stop()
		n, text = n+wrote, text[wrote:]
	}
	return n, err
}
