package web

// The life of a server: its shutdown, several servers, and a missing workspace.

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/internal/lateness"
)

// TestEnd checks that the server shuts down within two seconds, despite open streams that are read
// or not, idle connections, and incomplete requests.
func TestEnd(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	readers := []*reader{f.open("/api/events"), f.open("/api/stream?runs=1"), f.open("/api/stream?run_id=x")}
	f.get("/api/health") // kept alive
	var conns []net.Conn
	for _, text := range []string{
		"GET /api/stream?run_id=run_1 HTTP/1.1\r\nHost: " + f.hostport() + "\r\n\r\n", "GET /api/events HTTP/1.1\r\nHost: " + f.hostport() + "\r\n\r\n",
		"", "GET / HT", "POST /api/call HTTP/1.1\r\nHost: " + f.hostport() + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	} {
		c, err := net.Dial("tcp", f.hostport())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	f.log("run_1", 1, 20000) // more than an unread connection buffers
	for _, r := range readers[:2] {
		r.next()
	}
	late, began := lateness.Measure(), time.Now()
	if err := f.end(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second+late() && !raced {
		t.Errorf("ended after %v", took)
	}
	for _, r := range readers {
		for range r.frames { // until it is closed
		}
	}
	for _, c := range slices.Backward(conns) {
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection is open still")
		}
	}
}

// TestTwoServers checks that servers on one workspace see each other's changes, and that they
// cannot share an address.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	a := newServer(t)
	b := serve(t, a.dir)
	r := b.open("/api/events")
	r.next()
	a.post("/api/comments", `{"body":"by the other","target_agent_id":"x"}`)
	r.until(func(one sse) bool { return strings.Contains(one.data, "by the other") })
	o := options(a.dir)
	o.Port = int(portOf(a.listener))
	if _, err := Listen(t.Context(), o); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("one address for two: %v", err)
	}
}

// TestNoWorkspace checks that a server does not start without a workspace, and reports one that
// disappears.
func TestNoWorkspace(t *testing.T) {
	t.Parallel()
	if _, err := Listen(t.Context(), options(t.TempDir())); err == nil || !strings.Contains(err.Error(), "is not a workspace") {
		t.Errorf("%v", err)
	}
	f := newServer(t, func(o *Options) { o.RefreshIndex = true })
	if err := os.Remove(filepath.Join(f.dir, "company/company.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/health", "/api/ui/snapshot"} {
		if got := f.get(path); got.status != 503 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := f.open("/api/events").next(); got.name != "error" {
		t.Errorf("%+v", got)
	}
}
