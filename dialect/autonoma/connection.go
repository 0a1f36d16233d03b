package autonoma

// A connection: the order of its requests, its replies and its events.

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"ac/dialect"
	"ac/dialect/ws"
	"ac/internal/clock"
)

// connection is the connection of a client.
type connection struct {
	server *server
	conn   *ws.Conn
	since  time.Time // when the client connected
	slots  chan struct{}
	gone   chan struct{} // closed when slow requests must stop waiting
	// dismiss closes gone.
	dismiss func()

	calls sync.WaitGroup

	mu        sync.Mutex
	heard     bool          // a frame was read; before that, the client gets no events
	lastWrite chan struct{} // closed when the newest write has ended
	waiting   int           // slow requests that are waiting
	leaving   bool
	follows   map[string]*followed
	previews  map[previewed]*string // base hashes by previewed file; nil if the file was absent
}

// followed is an execution that a client follows, with the phases last sent to it.
type followed struct{ told [phaseCount]phase }

func newConnection(s *server) *connection {
	done := make(chan struct{})
	close(done)
	gone := make(chan struct{})
	return &connection{
		gone: gone, dismiss: sync.OnceFunc(func() { close(gone) }),
		server: s, since: s.Clock.Now(), slots: make(chan struct{}, maxInFlight), lastWrite: done,
		follows: map[string]*followed{}, previews: map[previewed]*string{},
	}
}

func (c *connection) serve(conn *ws.Conn) {
	c.mu.Lock()
	c.conn = conn
	leaving := c.leaving
	c.mu.Unlock()
	if leaving {
		conn.Close(ws.GoingAway)
	}
	conn.Serve(c.server.work, c.take)
	c.dismiss()
	c.calls.Wait()
}

// leave closes the connection once its requests are answered, or after farewell.
func (c *connection) leave() {
	c.mu.Lock()
	c.leaving = true
	conn := c.conn
	c.mu.Unlock()
	c.dismiss()
	answered := make(chan struct{})
	go func() { // ends with the last call, at the latest when the server's context ends
		c.calls.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(farewell):
	}
	if conn != nil {
		conn.Close(ws.GoingAway)
	}
}

// call is a request in progress.
type call struct {
	*connection
	request
	arrived time.Time
	release func() // lets later requests begin
	after   func() // runs once the answer is queued
	logID   string // names a run in the answer
}

// take parses a frame and starts its request. It blocks while too many requests are in progress.
func (c *connection) take(text []byte) {
	r, err := parseRequest(text)
	c.mu.Lock()
	c.heard = true
	leaving := c.leaving
	c.mu.Unlock()
	switch {
	case errors.Is(err, errTooDeep):
		c.conn.Close(ws.TooBig)
		return
	case err != nil:
		c.server.badFrame(err)
		return
	case leaving:
		return
	}
	select {
	case c.slots <- struct{}{}:
	case <-c.server.work.Done():
		return
	}
	made := &call{connection: c, request: r, arrived: c.server.Clock.Now(), after: func() {}, release: func() {}}
	m, known := c.server.methods[r.method]
	before := c.lastWrite
	if known && m.access != readAccess {
		done := make(chan struct{})
		c.lastWrite = done
		made.release = sync.OnceFunc(func() { close(done) })
	}
	c.calls.Go(func() {
		defer func() { <-c.slots }()
		defer made.release()
		select {
		case <-before:
		case <-c.server.work.Done():
		}
		made.answer(m, known)
	})
}

// answer runs a request and queues its answer.
func (c *call) answer(m method, known bool) {
	result, err := c.carryOut(m, known)
	var text []byte
	if err == nil {
		text, err = dialect.Encode(success{c.id, result, c.logID})
		if err == nil && len(text) > maxAnswer {
			err = protocolError(fmt.Sprintf("the answer is too large (%d bytes)", len(text)))
		}
	}
	if err != nil {
		if text, err = dialect.Encode(failure{c.id, oneLine(err)}); err != nil {
			c.server.Log.Error("an error cannot be told", "error", err)
			return
		}
	}
	c.conn.Send(text, "")
	c.after()
}

func (c *call) carryOut(m method, known bool) (result any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			c.server.Log.Error("a request panicked", "method", c.method, "panic", cause, "stack", string(debug.Stack()))
			err = protocolError("internal error; see the daemon's log")
		}
	}()
	if !known {
		return nil, protocolError("unknown method: " + c.method)
	}
	if c.bad != nil {
		return nil, c.bad
	}
	return m.call(c.server.work, c)
}

// tell queues an event. A later event with the same key may replace it.
func (c *connection) tell(kind string, data any, key string) {
	c.mu.Lock()
	heard := c.heard
	c.mu.Unlock()
	if !heard {
		return
	}
	text, err := dialect.Encode(event{kind, data})
	if err != nil || len(text) > maxAnswer {
		c.server.Log.Error("an event cannot be told", "type", kind, "bytes", len(text), "error", err)
		return
	}
	c.conn.Send(text, key)
}

// follow subscribes the client to an execution. told are the phases that the client already knows.
func (c *connection) follow(id string, told [phaseCount]phase) {
	c.mu.Lock()
	c.follows[id] = &followed{told}
	c.mu.Unlock()
	c.server.watch.rouse()
}

// cameAfter reports whether the client connected after a time, and so gets no events about it.
func (c *connection) cameAfter(stamp string) bool {
	at, ok := clock.Parse(stamp)
	return ok && c.since.Truncate(time.Millisecond).After(at)
}

// slow registers a slow request. It refuses one beyond the limit.
func (c *connection) slow(ctx context.Context) (done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting >= maxWaiting {
		return nil, protocolError(fmt.Sprintf("too many requests are waiting (%d)", maxWaiting))
	}
	c.waiting++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting--
	}, ctx.Err()
}
