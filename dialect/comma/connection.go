package comma

// A connection: it handles messages in order, and sends replies and the events of subscriptions.

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"ac/dialect/ws"
	"ac/internal/clock"
)

// prepareDelay is how long run_prepared is delayed after its request. Clients register a request
// only after sending it, and ignore an answer that arrives before that.
const prepareDelay = 100 * time.Millisecond

// connection is the connection of a client.
type connection struct {
	server *server
	conn   *ws.Conn
	ctx    context.Context //nolint:containedctx // ends with the connection
	end    context.CancelFunc
	works  sync.WaitGroup // subscriptions and delayed answers

	mu       sync.Mutex
	leaving  bool
	follows  map[string]*subscription
	prompted map[string]bool          // prompts sent to the client, by requestId
	held     map[string]chan struct{} // delayed answers, by run; closed when they are sent
}

func newConnection(s *server) *connection {
	c := &connection{server: s, follows: map[string]*subscription{}, prompted: map[string]bool{}, held: map[string]chan struct{}{}}
	c.ctx, c.end = context.WithCancel(s.work)
	return c
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
	c.end()
	c.works.Wait()
	c.server.memory.gone(c, c.server.Clock.Now())
}

// leave closes the connection.
func (c *connection) leave() {
	c.mu.Lock()
	c.leaving = true
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		conn.Close(ws.GoingAway)
	}
}

// rouse makes all subscriptions check their logs.
func (c *connection) rouse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.follows {
		f.rouse()
	}
}

// take handles a message. The next message is read only after that.
func (c *connection) take(raw []byte) {
	if !c.conn.Room(c.ctx, maxAnswers, 1<<30) {
		return
	}
	r, err := readMessage(raw)
	if err == nil {
		c.settle(r.RunID)
		err = c.carryOut(&r)
	}
	if err == nil {
		return
	}
	why, known := errors.AsType[*failed](err)
	if !known {
		c.server.Log.Warn("a request failed", "type", r.Type, "error", err)
		why = fail(codeInternal, "%s", oneLine(err))
	}
	c.answer(r.RequestID, frame{"error", errorBody{why.code, why.message}})
}

// settle waits until a delayed answer about a run has been sent.
func (c *connection) settle(run string) {
	c.mu.Lock()
	held := c.held[run]
	c.mu.Unlock()
	if held == nil || run == "" {
		return
	}
	select {
	case <-held:
	case <-c.ctx.Done():
	}
}

// hold delays an answer until at. Later messages that name the run wait for it.
func (c *connection) hold(run string, at time.Time, id *string, f frame) {
	held := make(chan struct{})
	c.mu.Lock()
	c.held[run] = held
	c.mu.Unlock()
	c.works.Go(func() {
		timer := time.NewTimer(at.Sub(c.server.Clock.Now()))
		defer timer.Stop()
		select {
		case <-timer.C:
			c.answer(id, f)
		case <-c.ctx.Done():
		}
		c.mu.Lock()
		delete(c.held, run)
		c.mu.Unlock()
		close(held)
	})
}

// carryOut handles a message, and turns a panic into an internal error.
func (c *connection) carryOut(r *request) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			c.server.Log.Error("a request panicked", "type", r.Type, "panic", cause, "stack", string(debug.Stack()))
			err = fail(codeInternal, "internal error; see the server's log")
		}
	}()
	handle := c.handlers()[r.Type]
	if handle == nil {
		return fmt.Errorf("%s has no handler", r.Type)
	}
	return handle(c.ctx, r)
}

// answer queues a message, regardless of how much is queued. id is the request that it answers, nil
// for none.
func (c *connection) answer(id *string, f frame) {
	text, err := f.encode(clock.Stamp(c.server.Clock.Now()), id)
	if err != nil {
		c.server.Log.Error("a message cannot be told", "type", f.kind, "error", err)
		return
	}
	c.conn.Send(text, "")
}

// once reports whether a prompt is new to the client, and records it as sent.
func (c *connection) once(prompt string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prompted[prompt] {
		return false
	}
	c.prompted[prompt] = true
	return true
}
