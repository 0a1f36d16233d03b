// Package ws is the WebSocket side of dialects: a connection with a reader, and a writer with a
// bounded queue. Every message is one frame, neither fragmented nor compressed, because clients
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

// Limits bound a connection. Sizes are in bytes.
type Limits struct {
	Read int64 // the largest message from the client
	// Crowded is how much may be queued before newer messages replace older ones with the same key.
	// Full is how much may be queued before the connection is closed.
	Crowded, Full int
	// Ping is the interval between pings, 0 for none. A client that does not answer a ping within
	// Pong is disconnected.
	Ping, Pong time.Duration
	// Goodbye is the close reason when the server shuts down.
	Goodbye string
	// Binary sends binary messages instead of text messages.
	Binary bool
}

// Conn is a WebSocket connection. Its methods except Serve and Pull are safe for concurrent use.
type Conn struct {
	conn   *websocket.Conn
	wire   net.Conn // the connection under conn
	limits Limits
	source func() (text []byte, ok bool)

	mu      sync.Mutex
	queue   []message
	waiting int  // bytes in the queue
	writing bool // a message of the queue is being written
	ended   bool
	code    websocket.StatusCode
	wake    chan struct{}
	taken   chan struct{}      // closed when the queue shrinks, nil while nobody waits
	stop    context.CancelFunc // ends reading
	cut     *time.Timer        // disconnects a client that does not complete the close
}

// message is a queued text. A later message with the same key may replace it.
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

// Accept completes the handshake of a request whose origin has been checked. If it returns an
// error, the request has been answered.
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

// Serve reads messages and passes them to take one by one, until the client disconnects, ctx ends
// or Close is called. Messages sent before that are still written if the client reads them within a
// grace period. When Serve returns, no goroutine of the connection runs.
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
	// Reading with a context that ends would cut the connection before the queue is written. So
	// only closing the connection ends the reader.
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
		case <-gone: // or it sent an invalid frame
			c.Close(websocket.StatusProtocolError)
		case <-reading.Done():
		}
		break
	}
	c.Close(websocket.StatusGoingAway)
	wg.Wait()
	c.cut.Stop()
}

// ping checks periodically whether the client still answers.
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
			abort(c.wire) // nobody is left to report to
			return
		}
	}
}

// Room waits until at most this many messages and bytes are queued (backpressure). It reports
// whether more may be sent. It returns false if the connection or ctx has ended.
func (c *Conn) Room(ctx context.Context, messages, bytes int) bool {
	return c.await(ctx, func() bool { return len(c.queue) <= messages && c.waiting <= bytes })
}

// Written waits until everything that was sent is written. It returns false if the connection or
// ctx has ended.
func (c *Conn) Written(ctx context.Context) bool {
	return c.await(ctx, func() bool { return len(c.queue) == 0 && !c.writing })
}

// await waits until the queue satisfies is.
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

// drop removes the messages with a key from the queue.
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

// Close ends the connection with a status, such as 1001 for a server that shuts down, after writing
// what was sent. Only the first call counts.
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

// drain wakes the goroutines that wait for room.
func (c *Conn) drain() {
	if c.taken != nil {
		close(c.taken)
		c.taken = nil
	}
}

// Pull sets a source of messages. The writer reads it whenever the queue is empty, until it returns
// false. After that it reads it again only after Wake or Send. Call Pull before Serve.
func (c *Conn) Pull(source func() (text []byte, ok bool)) { c.source = source }

// Wake makes the writer read the source again.
func (c *Conn) Wake() { c.rouse() }

func (c *Conn) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// grace is how long a client may take to read the queue at the end and to answer the close.
const grace = 1500 * time.Millisecond

// write writes the queue until the connection ends, then closes it.
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
			_ = c.conn.Close(code, reason) // best effort: the client may be gone
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

// ConnContext is the ConnContext of an http.Server that passes requests to Accept.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, wireKey{}, c)
}

// Close statuses: the server shuts down, a message is too long, the exchange is over, and the
// server accepts no more.
const (
	GoingAway = websocket.StatusGoingAway
	TooBig    = websocket.StatusMessageTooBig
	Normal    = websocket.StatusNormalClosure
	TryLater  = websocket.StatusTryAgainLater
)
