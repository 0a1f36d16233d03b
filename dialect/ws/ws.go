// Package ws is the WebSocket side of dialects: a connection with a reader, and a writer with
// a bounded queue. Every message is one text frame, neither fragmented nor compressed: clients
// that parse frames by hand support nothing else.
package ws

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Limits bound a connection. They are in bytes.
type Limits struct {
	Read int64 // the largest message of the client
	// Crowded is how much may wait unread before messages that newer ones replace are
	// dropped, Full how much before the connection is closed.
	Crowded, Full int
	// Ping is how often the client is pinged, 0 for never; a client that has not answered
	// one after Pong is cut off.
	Ping, Pong time.Duration
	// Goodbye is the reason that goes with the end of a server.
	Goodbye string
	// Binary writes binary messages, no texts.
	Binary bool
}

// Conn is a connection. Send and Close may be called by any goroutine.
type Conn struct {
	conn   *websocket.Conn
	wire   net.Conn // beneath conn
	limits Limits
	source func() (text []byte, ok bool)

	mu      sync.Mutex
	queue   []message
	waiting int  // bytes in the queue
	writing bool // a message of the queue is being written
	ended   bool
	code    websocket.StatusCode
	wake    chan struct{}
	taken   chan struct{}      // closed when something is taken from the queue, nil while nobody waits
	stop    context.CancelFunc // ends reading
	cut     *time.Timer        // cuts a client off that does not take the end
}

// message is a text that waits to be written. A later one of the same key may take its
// place.
type message struct {
	text []byte
	key  string
}

// IsUpgrade reports whether a request asks for a WebSocket.
func IsUpgrade(r *http.Request) bool {
	asks := func(header, word string) bool {
		for part := range strings.SplitSeq(strings.Join(r.Header.Values(header), ","), ",") {
			if strings.EqualFold(strings.TrimSpace(part), word) {
				return true
			}
		}
		return false
	}
	return asks("Connection", "upgrade") && asks("Upgrade", "websocket")
}

// Accept completes the handshake of a request, whose origin must have been checked. If it
// returns an error, the request has been answered.
func Accept(w http.ResponseWriter, r *http.Request, limits Limits) (*Conn, error) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(limits.Read)
	wire, ok := r.Context().Value(wireKey{}).(net.Conn)
	if !ok {
		return nil, errors.Join(errors.New("the server has no connections of Wired"), conn.CloseNow())
	}
	return &Conn{conn: conn, wire: wire, limits: limits, wake: make(chan struct{}, 1), stop: func() {}}, nil
}

// Serve reads messages and passes them to take one by one, until the client disconnects, ctx
// ends or Close is called. Messages sent before the end are written if the client reads them
// within a grace period. When Serve returns, no goroutine of the connection runs.
func (c *Conn) Serve(ctx context.Context, take func(text []byte)) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	c.mu.Lock()
	c.stop = stop
	ended := c.ended
	c.mu.Unlock()
	if ended {
		stop()
	}
	var wg sync.WaitGroup
	wg.Go(c.write)
	if c.limits.Ping > 0 {
		wg.Go(func() { c.ping(reading) })
	}
	// Reading with a context that ends would cut the connection off before the queue is
	// written; so the reader ends by the close of the connection alone.
	messages := make(chan []byte)
	gone := make(chan struct{})
	wg.Go(func() {
		defer close(gone)
		for {
			_, text, err := c.conn.Read(context.Background())
			if err != nil {
				return
			}
			select {
			case messages <- text:
			case <-reading.Done():
			}
		}
	})
	for {
		select {
		case text := <-messages:
			take(text)
			continue
		case <-gone: // or it sent what is no frame of a client
			c.Close(websocket.StatusProtocolError)
		case <-reading.Done():
		}
		break
	}
	c.Close(websocket.StatusGoingAway)
	wg.Wait()
	c.cut.Stop()
}

// ping looks now and then whether the client is still there.
func (c *Conn) ping(ctx context.Context) {
	ticker := time.NewTicker(c.limits.Ping)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		answered, cancel := context.WithTimeout(ctx, c.limits.Pong)
		err := c.conn.Ping(answered)
		cancel()
		if err != nil {
			abort(c.wire) // nobody is there to be told
			return
		}
	}
}

// Room waits until at most this many messages and bytes are queued (backpressure). It reports
// whether more may be sent: false if the connection or ctx has ended.
func (c *Conn) Room(ctx context.Context, messages, bytes int) bool {
	return c.await(ctx, func() bool { return len(c.queue) <= messages && c.waiting <= bytes })
}

// Written waits until everything that was sent is written and released. It reports the same
// as Room.
func (c *Conn) Written(ctx context.Context) bool {
	return c.await(ctx, func() bool { return len(c.queue) == 0 && !c.writing })
}

// await waits for a state of the queue.
func (c *Conn) await(ctx context.Context, is func() bool) bool {
	for {
		c.mu.Lock()
		ended, fits := c.ended, is()
		if c.taken == nil {
			c.taken = make(chan struct{})
		}
		taken := c.taken
		c.mu.Unlock()
		switch {
		case ended || ctx.Err() != nil:
			return false
		case fits:
			return true
		}
		select {
		case <-taken:
		case <-ctx.Done():
		}
	}
}

// Send queues a message. If the client does not read, a message with a key is dropped in favor
// of a later one with the same key. Messages without a key are never dropped.
func (c *Conn) Send(text []byte, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	if key != "" && c.waiting > c.limits.Crowded {
		c.drop(key)
	}
	c.queue = append(c.queue, message{text, key})
	c.waiting += len(text)
	if c.waiting > c.limits.Full {
		c.queue, c.waiting = nil, 0
		c.end(websocket.StatusTryAgainLater)
	}
	c.rouse()
}

// drop takes the message with a key out of the queue.
func (c *Conn) drop(key string) {
	kept := c.queue[:0]
	for _, m := range c.queue {
		if m.key == key {
			c.waiting -= len(m.text)
			continue
		}
		kept = append(kept, m)
	}
	clear(c.queue[len(kept):])
	c.queue = kept
}

// Close ends the connection with a status, such as 1001 for a server that shuts down, after
// writing what was sent. Only the first status counts.
func (c *Conn) Close(code websocket.StatusCode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(code)
}

func (c *Conn) end(code websocket.StatusCode) {
	if c.ended {
		return
	}
	c.ended, c.code = true, code
	c.cut = time.AfterFunc(grace, func() { _ = c.wire.Close() })
	c.stop()
	c.rouse()
	c.drain()
}

// drain wakes those who wait for room.
func (c *Conn) drain() {
	if c.taken != nil {
		close(c.taken)
		c.taken = nil
	}
}

// Pull sets a source of messages. It is asked whenever the queue is empty, until it has none,
// and again after Wake. Pull must be called before Serve.
func (c *Conn) Pull(source func() (text []byte, ok bool)) { c.source = source }

// Wake asks the source again.
func (c *Conn) Wake() { c.rouse() }

func (c *Conn) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// grace is how long a client may take for what waits at the end, and for its answer to
// the close.
const grace = 1500 * time.Millisecond

// write writes the queue until the end, and closes the connection.
func (c *Conn) write() {
	kind := websocket.MessageText
	if c.limits.Binary {
		kind = websocket.MessageBinary
	}
	for {
		next, code, ended := c.next()
		if next == nil && !ended && c.source != nil {
			next, _ = c.source()
		}
		switch {
		case next != nil:
			if c.conn.Write(context.Background(), kind, next) != nil {
				c.Close(websocket.StatusAbnormalClosure)
				_ = c.conn.CloseNow() // it is broken
				return
			}
		case ended:
			reason := ""
			if code == GoingAway {
				reason = c.limits.Goodbye
			}
			_ = c.conn.Close(code, reason) // a client that is gone hears nothing
			return
		default:
			<-c.wake
		}
	}
}

func (c *Conn) next() (text []byte, code websocket.StatusCode, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = len(c.queue) > 0
	c.drain()
	if !c.writing {
		return nil, c.code, c.ended
	}
	m := c.queue[0]
	c.queue[0] = message{}
	c.queue = c.queue[1:]
	c.waiting -= len(m.text)
	return m.text, c.code, c.ended
}

type wireKey struct{}

// Wired is the ConnContext of an http.Server whose requests are passed to Accept.
func Wired(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, wireKey{}, c)
}

// Close statuses: of a server that shuts down, of a message that is too long, of something
// that is over, and of something that accepts no more.
const (
	GoingAway = websocket.StatusGoingAway
	TooBig    = websocket.StatusMessageTooBig
	Normal    = websocket.StatusNormalClosure
	TryLater  = websocket.StatusTryAgainLater
)
