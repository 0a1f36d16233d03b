package ws

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server that passes each connection to each, and returns its URL.
func serve(t *testing.T, limits Limits, each func(ctx context.Context, c *Conn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var handlers sync.WaitGroup
	server := &http.Server{ConnContext: ConnContext, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		c, err := Accept(w, r, limits)
		if err != nil {
			t.Error(err)
			return
		}
		each(ctx, c)
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(Patient(listener, 20*time.Second)) // closed below
	}()
	t.Cleanup(func() {
		cancel()
		_ = server.Close()
		<-ended
		handlers.Wait()
	})
	return "ws://" + listener.Addr().String()
}

func dial(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	c, answer, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

func roomy() Limits { return Limits{Read: 1 << 20, Crowded: 1 << 10, Full: 1 << 30} }

// TestEcho sends messages through a connection. At shutdown the close frame follows everything
// that was sent.
func TestEcho(t *testing.T) {
	t.Parallel()
	url := serve(t, roomy(), func(ctx context.Context, c *Conn) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		c.Serve(ctx, func(text []byte) {
			c.Send(append([]byte("heard "), text...), "")
			if string(text) == "stop" {
				stop()
			}
		})
	})
	client := dial(t, url)
	for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
		if err := client.Write(t.Context(), kind, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		got, text, err := client.Read(t.Context())
		if err != nil || got != websocket.MessageText || string(text) != "heard hello" {
			t.Fatalf("%v %q %v", got, text, err)
		}
	}
	if err := client.Write(t.Context(), websocket.MessageText, []byte("stop")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := client.Read(t.Context()); err != nil || string(text) != "heard stop" {
		t.Fatalf("%q %v", text, err)
	}
	if _, _, err := client.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the end: %v", err)
	}
}

// TestTooLong checks that a message over the limit closes the connection with
// StatusMessageTooBig.
func TestTooLong(t *testing.T) {
	t.Parallel()
	url := serve(t, roomy(), func(ctx context.Context, c *Conn) {
		c.Serve(ctx, func(text []byte) { c.Send([]byte(strconv.Itoa(len(text))), "") })
	})
	client := dial(t, url)
	if err := client.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat("x", 1<<20))); err != nil {
		t.Fatal(err)
	}
	if _, text, err := client.Read(t.Context()); err != nil || string(text) != strconv.Itoa(1<<20) {
		t.Fatalf("%q %v", text, err)
	}
	_ = client.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat("x", 1<<20+1))) // it may be closed early
	if _, _, err := client.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("one byte too long: %v", err)
	}
}

// TestBreach checks that an unmasked frame closes the connection with 1002, a protocol error.
func TestBreach(t *testing.T) {
	t.Parallel()
	url := serve(t, roomy(), func(ctx context.Context, c *Conn) { c.Serve(ctx, func([]byte) { t.Error("it was taken") }) })
	wire, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = wire.Close() }()
	_, err = io.WriteString(wire, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x81\x02hi")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(wire)
	if err != nil {
		t.Fatal(err)
	}
	_, frames, _ := strings.Cut(string(answer), "\r\n\r\n")
	if want := "\x88\x02\x03\xea"; frames != want { // a close frame with 1002
		t.Errorf("%q, want %q", frames, want)
	}
}

// TestReplaced checks that only messages replaced by a later state are dropped for a client that
// does not read. The rest keep their order.
func TestReplaced(t *testing.T) {
	t.Parallel()
	c := &Conn{limits: Limits{Crowded: 100, Full: 1 << 20}, wake: make(chan struct{}, 1), stop: func() {}}
	c.Send([]byte("a1"), "a")
	c.Send([]byte("a2"), "a")
	c.Send([]byte(strings.Repeat("x", 200)), "")
	c.Send([]byte("b1"), "b")
	c.Send([]byte("a3"), "a")
	c.Send([]byte("kept"), "")
	c.Send([]byte("b2"), "b")
	var got []string
	for {
		text, _, _ := c.next()
		if text == nil {
			break
		}
		got = append(got, string(text[:min(len(text), 4)]))
	}
	if strings.Join(got, " ") != "xxxx a3 kept b2" || c.waiting != 0 {
		t.Errorf("%q, %d bytes left", got, c.waiting)
	}
}

// TestFull checks that the connection of a client that does not read is closed once too much
// output is queued.
func TestFull(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	url := serve(t, Limits{Read: 1 << 20, Crowded: 1 << 20, Full: 8 << 20}, func(ctx context.Context, c *Conn) {
		defer close(over)
		c.Serve(ctx, func([]byte) {
			for range 64 {
				c.Send(make([]byte, 1<<20), "")
			}
		})
	})
	client := dial(t, url)
	if err := client.Write(t.Context(), websocket.MessageText, []byte("go")); err != nil {
		t.Fatal(err)
	}
	<-over
}

// TestUpgrade checks which requests ask for a WebSocket.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for headers, want := range map[string]bool{
		"Upgrade|websocket": true, "keep-alive, Upgrade|WebSocket": true, "close|websocket": false, "Upgrade|h2c": false, "|": false,
	} {
		connection, upgrade, _ := strings.Cut(headers, "|")
		r := &http.Request{Header: http.Header{"Connection": {connection}, "Upgrade": {upgrade}}}
		if IsUpgrade(r) != want {
			t.Errorf("%s: %t", headers, !want)
		}
	}
}

// TestRoom checks that a sender can wait until the client has read.
func TestRoom(t *testing.T) {
	t.Parallel()
	crowded, roomyAgain := make(chan struct{}), make(chan bool, 1)
	url := serve(t, roomy(), func(ctx context.Context, c *Conn) {
		big := []byte(strings.Repeat("x", 4<<20))
		for range 8 { // more than the socket buffers hold
			c.Send(big, "")
		}
		var waits sync.WaitGroup
		waits.Go(func() { roomyAgain <- c.Room(ctx, 0, 0) })
		close(crowded)
		c.Serve(ctx, func([]byte) {})
		waits.Wait()
		if c.Room(ctx, 0, 0) {
			t.Error("there is room on a connection that has ended")
		}
	})
	c := dial(t, url)
	<-crowded
	select {
	case <-roomyAgain:
		t.Fatal("there is room though the client reads nothing")
	default:
	}
	for range 8 {
		if _, _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !<-roomyAgain {
		t.Error("there is no room on an empty connection")
	}
}

// TestWritten checks that a sender can wait until everything it sent has been written.
func TestWritten(t *testing.T) {
	t.Parallel()
	written := make(chan bool, 1)
	url := serve(t, roomy(), func(ctx context.Context, c *Conn) {
		c.Send([]byte(strings.Repeat("x", 16<<20)), "") // more than the socket buffers hold
		var waits sync.WaitGroup
		waits.Go(func() {
			if c.Room(ctx, 0, 0) { // the queue is empty while the message is being written
				written <- c.Written(ctx)
			}
		})
		c.Serve(ctx, func([]byte) {})
		waits.Wait()
		if c.Written(ctx) {
			t.Error("a connection that has ended takes more")
		}
	})
	c := dial(t, url)
	header, text, err := c.Reader(t.Context())
	if err != nil || header != websocket.MessageText {
		t.Fatal(err)
	}
	select {
	case <-written:
		t.Fatal("it is written though the client has read nothing")
	default:
	}
	if n, err := io.Copy(io.Discard, text); err != nil || n != 16<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	c.CloseRead(t.Context())
	if !<-written {
		t.Error("it was not written")
	}
}

// TestPing checks that clients are pinged, and that one that does not answer is disconnected.
func TestPing(t *testing.T) {
	t.Parallel()
	limits := roomy()
	limits.Ping, limits.Pong = time.Millisecond, time.Minute
	ended := make(chan struct{})
	url := serve(t, limits, func(ctx context.Context, c *Conn) { c.Serve(ctx, func([]byte) {}) })
	pinged := make(chan struct{}, 1)
	c, answer, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{OnPingReceived: func(context.Context, []byte) bool {
		select {
		case pinged <- struct{}{}:
		default:
		}
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	reading, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _, _ = c.Read(reading) }) // a client answers pings only while it reads
	<-pinged
	stop()
	wg.Wait()

	limits.Pong = 10 * time.Millisecond
	url = serve(t, limits, func(ctx context.Context, c *Conn) {
		c.Serve(ctx, func([]byte) {})
		close(ended)
	})
	dial(t, url) // this client never reads, so it answers no ping
	<-ended
}
