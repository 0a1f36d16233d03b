package acecode

// Tests of what the listener refuses or closes at its bounds.

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ac/dialect/dialecttest"
)

// raw opens a connection. With a path it requests a WebSocket there, and never reads it.
func (s *stage) raw(path string) net.Conn {
	s.T.Helper()
	host := strings.TrimPrefix(s.url, "http://")
	var dialer net.Dialer
	conn := dialecttest.Must(dialer.DialContext(s.T.Context(), "tcp", host))
	s.T.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		s.T.Fatal(err)
	}
	if path != "" {
		_, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
		if err != nil {
			s.T.Fatal(err)
		}
	}
	return conn
}

// sockets waits until the number of open sockets satisfies there.
func (s *stage) sockets(what string, there func(n int) bool) {
	s.T.Helper()
	for began := time.Now(); !there(s.server.open.Count()); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > dialecttest.Patience {
			s.T.Fatalf("never: %s; %d are open", what, s.server.open.Count())
		}
	}
}

// TestDeafSockets checks that the server cuts sockets of consoles and sessions whose clients do
// not read, and keeps those whose clients do.
func TestDeafSockets(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) { o.Place.Patience = 2 * time.Second })
	made := s.newConsole()
	quick := s.look(made.ID, "?cursor=0")
	deaf := s.raw("/ws/pty/" + made.ID + "?cursor=0")
	s.sockets("both sockets of the console", func(n int) bool { return n == 2 })
	quick.typed("yes 0123456789abcdef\n")
	for began := time.Now(); s.server.open.Count() != 1; {
		if end := quick.read(); end != 0 {
			t.Fatalf("the console that is read was ended with %d", end)
		}
		if time.Since(began) > dialecttest.Patience {
			t.Fatal("the console that nobody reads was never cut")
		}
	}
	s.hearsOfTheEnd(deaf)
	s.want(http.StatusNoContent, "DELETE", "/api/pty/"+made.ID, "", nil)
	quick.ends(websocket.StatusNormalClosure)
	s.sockets("no socket", func(n int) bool { return n == 0 })

	id := s.create("")
	deaf = s.raw("/ws/sessions/" + id)
	s.sockets("the socket of the session", func(n int) bool { return n == 1 })
	var pings []byte
	for range 1000 { // more than the server accepts at once
		ping := `{"type":"ping"}`
		pings = append(append(pings, 0x81, 0x80|byte(len(ping)), 0, 0, 0, 0), ping...)
	}
	if err := deaf.SetWriteDeadline(time.Now().Add(dialecttest.Patience)); err != nil {
		t.Fatal(err)
	}
	var err error
	for err == nil {
		_, err = deaf.Write(pings)
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
	s.sockets("the end of the socket that nobody reads", func(n int) bool { return n == 0 })
}

// hearsOfTheEnd reads a connection that the server cut. The server must have reset it, which
// leaves no data queued in the kernel.
func (s *stage) hearsOfTheEnd(c net.Conn) {
	s.T.Helper()
	if err := c.SetReadDeadline(time.Now().Add(dialecttest.Patience)); err != nil {
		s.T.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
		s.T.Errorf("%d bytes, %v", n, err)
	}
}

// TestTooManySockets checks that sessions and consoles share 64 sockets, and that closing one
// frees its slot.
func TestTooManySockets(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	made := s.newConsole()
	first := s.look(made.ID, "")
	for range maxSockets - 1 {
		s.dial("/ws/sessions/_multiplex")
	}
	for _, path := range []string{"/ws/sessions/_multiplex", "/ws/pty/" + made.ID} {
		r := s.do("GET", path, "", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
		if r.code != http.StatusServiceUnavailable || r.text != `{"error":"too many sockets"}` {
			t.Errorf("%s: %d %s", path, r.code, r.text)
		}
	}
	s.want(http.StatusOK, "GET", "/api/health", "", nil)
	_ = first.conn.CloseNow()
	s.sockets("the end of one", func(n int) bool { return n < maxSockets })
	s.dial("/ws/sessions/_multiplex").send(`{"type":"ping"}`)
}

// TestTooManySessions checks that a socket follows at most 64 sessions, and that unsubscribing
// from one frees its slot.
func TestTooManySessions(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial("/ws/sessions/_multiplex")
	follow := func(id string) received {
		c.send(`{"type":"subscribe","payload":{"session_id":"` + id + `"}}`)
		return c.read()
	}
	first, last := s.create(""), ""
	for n := range maxBound {
		if last = first; n > 0 {
			last = s.create("")
		}
		if f := follow(last); f.Type != "subscribe_ack" {
			t.Fatalf("session %d: %s", n+1, f.raw)
		}
	}
	over := s.create("")
	if f := follow(over); f.Type != "error" || f.text("reason") != "too many sessions" || f.text("code") != "too_many_sessions" {
		t.Error(f.raw)
	}
	if f := follow(last); f.Type != "subscribe_ack" { // already followed
		t.Error(f.raw)
	}
	c.send(`{"type":"unsubscribe","payload":{"session_id":"` + first + `"}}`)
	c.await("unsubscribe_ack", first)
	if f := follow(over); f.Type != "subscribe_ack" {
		t.Error(f.raw)
	}
}

// TestTooManyConnections checks that the listener serves 256 connections, answers one more with
// an error and closes it, and that closing a connection frees its slot.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	http.DefaultClient.CloseIdleConnections()
	var all []net.Conn
	ask := func() (status string, conn net.Conn) {
		conn = s.raw("")
		if _, err := io.WriteString(conn, "GET /api/health HTTP/1.1\r\nHost: "+strings.TrimPrefix(s.url, "http://")+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, len("HTTP/1.1 200"))
		if err := conn.SetReadDeadline(time.Now().Add(dialecttest.Patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, line); err != nil {
			t.Fatal(err)
		}
		return string(line[len(line)-3:]), conn
	}
	for range maxConnections {
		status, conn := ask()
		if status != "200" {
			t.Fatalf("connection %d: %s", len(all)+1, status)
		}
		all = append(all, conn)
	}
	status, over := ask()
	if status != "503" {
		t.Errorf("one too many: %s", status)
	}
	if rest, err := io.ReadAll(over); err != nil && !errors.Is(err, os.ErrClosed) || !strings.Contains(string(rest), `{"error":"too many connections"}`) {
		t.Errorf("%q, %v", rest, err)
	}
	_ = all[0].Close()
	for began := time.Now(); ; {
		if status, _ := ask(); status == "200" {
			break
		}
		if time.Since(began) > dialecttest.Patience {
			t.Fatal("the end of a connection makes no room")
		}
	}
}
