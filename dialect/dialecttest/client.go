package dialecttest

import (
	"context"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Client is a WebSocket client. It buffers frames that were read but not used yet.
type Client[F any] struct {
	T    *testing.T
	Conn *websocket.Conn
	In   chan F // closed when the connection has ended
	Kept []F
}

// Dial connects to a WebSocket. read decodes a message as a frame, concurrently with the test.
func Dial[F any](t *testing.T, url string, o *websocket.DialOptions, read func(text []byte) F) *Client[F] {
	t.Helper()
	conn, answer, err := websocket.Dial(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	if got := answer.Header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("an offer of compression is answered: %s", got)
	}
	conn.SetReadLimit(-1)
	c := &Client[F]{T: t, Conn: conn, In: make(chan F, 10_000)}
	go func() { // ends with the connection
		defer close(c.In)
		for {
			_, text, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			c.In <- read(text)
		}
	}()
	t.Cleanup(func() {
		_ = conn.CloseNow()
		for range c.In { // until the reader has ended
		}
	})
	return c
}

// Send sends a text frame.
func (c *Client[F]) Send(text string) {
	c.T.Helper()
	if err := c.Conn.Write(c.T.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.T.Fatal(err)
	}
}

// Next returns the next frame.
func (c *Client[F]) Next(what string) (f F) {
	c.T.Helper()
	if len(c.Kept) > 0 {
		f, c.Kept = c.Kept[0], c.Kept[1:]
		return f
	}
	select {
	case f, ok := <-c.In:
		if !ok {
			c.T.Fatalf("the connection ended before: %s", what)
		}
		return f
	case <-time.After(Patience):
		c.T.Fatalf("never: %s", what)
	}
	return f
}

// Await reads until it finds a wanted frame, and keeps the others for later.
func (c *Client[F]) Await(what string, wanted func(F) bool) (f F) {
	c.T.Helper()
	for i, f := range c.Kept {
		if wanted(f) {
			c.Kept = append(c.Kept[:i:i], c.Kept[i+1:]...)
			return f
		}
	}
	limit := time.After(Patience)
	for {
		select {
		case f, ok := <-c.In:
			if !ok {
				c.T.Fatalf("the connection ended before: %s", what)
			}
			if wanted(f) {
				return f
			}
			c.Kept = append(c.Kept, f)
		case <-limit:
			c.T.Fatalf("never: %s; kept %d frames", what, len(c.Kept))
		}
	}
}
