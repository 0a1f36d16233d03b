package ws

// Connections whose peer may read slowly but must not stop reading.

import (
	"net"
	"sync"
	"time"
)

// chunk is what is written at once, in bytes.
const chunk = 64 << 10

// Patient wraps a listener. Its connections fail when the peer reads nothing for the duration
// of patience, and not earlier, however much there is to write.
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

// OnClose calls a function once, when a connection of a Patient listener is closed.
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

// abort closes a connection at once. A close alone leaves what the other end does not take with
// the system, and the end of the connection behind it, for as long as that goes on.
func abort(c net.Conn) {
	if p, ok := c.(*patientConn); ok {
		if tcp, ok := p.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // it is closed in any case
		}
	}
	_ = c.Close() // nobody is there to be told
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
