package acecode

// Bindings: the sessions that a socket follows.

import (
	"context"

	"ac/company"
	"ac/dialect"
	"ac/dialect/acecode/frames"
	"ac/feed"
)

// binding is a session that a socket follows.
type binding struct {
	at     frames.Place
	cancel context.CancelFunc
	ended  chan struct{} // closed when no more of its frames are queued
}

// boundPayload acknowledges a binding.
type boundPayload struct {
	frames.Place
	Head int64 `json:"head_seq"`
	Gap  bool  `json:"gap"`
}

// sessionPart is the member that names a session.
type sessionPart struct {
	SessionID string `json:"session_id"`
}

// bind makes the socket follow a session. It sends the events that the client misses, then the
// acknowledgement, then the open requests, then new events.
func (c *socket) bind(kind, id string, since int64) {
	s := c.server
	ack := kind + "_ack"
	c.mu.Lock()
	if !c.fixed && kind == "subscribe" && len(c.bound) == 0 {
		c.naming = frames.ShapeWire
	}
	_, again := c.bound[id]
	full := !again && len(c.bound) >= maxBound
	c.mu.Unlock()
	if full {
		c.complain(id, "too many sessions", "too_many_sessions", "a socket follows 64 sessions at most")
		return
	}
	row, err := s.session(c.work, id)
	if err != nil {
		c.complain(id, "unknown session", "unknown_session", "unknown session: "+id)
		return
	}
	s.state.wake(row.ID)
	at := s.placeOf(row.ID)
	if again {
		c.acknowledgeAgain(ack, at)
		return
	}
	ctx, cancel := context.WithCancel(c.work)
	c.mu.Lock()
	ended := make(chan struct{})
	c.bound[id] = &binding{at, cancel, ended}
	if c.first == "" {
		c.first = id
	}
	c.mu.Unlock()
	c.tasks.Go(func() {
		defer close(ended)
		defer cancel()
		if err := c.follow(ctx, ack, at, since); err != nil && ctx.Err() == nil {
			s.Log.Warn("a session cannot be followed", "session", id, "error", err)
			c.forget(id)
			c.complain(id, "session cannot be followed", "follow_failed", err.Error())
		}
	})
}

func (c *socket) acknowledge(ack string, at frames.Place, head int64, gap bool) {
	c.send(ownFrame{ack, at.SessionID, at.WorkspaceHash, boundPayload{at, head, gap}})
}

// acknowledgeAgain answers a request to bind a session that is already bound.
func (c *socket) acknowledgeAgain(ack string, at frames.Place) {
	head := int64(0)
	err := c.server.withHistory(c.work, at.SessionID, func(h *history) error {
		head = h.head()
		return nil
	})
	if err != nil {
		c.server.Log.Warn("a session cannot be read", "session", at.SessionID, "error", err)
	}
	c.acknowledge(ack, at, head, false)
}

// follow sends the events of a session until ctx is done.
func (c *socket) follow(ctx context.Context, ack string, at frames.Place, since int64) error {
	var (
		missed, asked []frames.Frame
		gap           bool
		head          int64
		m             *frames.Mapper
	)
	err := c.server.withHistory(ctx, at.SessionID, func(h *history) error {
		switch {
		case since > 0:
			missed, gap = h.since(since)
		case c.isWire():
			missed = h.turn()
		default:
			missed = h.newest(frames.PerLine)
		}
		head, m = h.head(), h.mapper.Clone()
		asked = m.View.Asked()
		return nil
	})
	if err != nil {
		return err
	}
	if !c.put(ctx, at, missed) {
		return nil
	}
	c.acknowledge(ack, at, head, gap)
	for _, f := range asked { // repeats without event numbers
		f.Seq = 0
		if !c.put(ctx, at, []frames.Frame{f}) {
			return nil
		}
	}
	stop, err := dialect.Do(ctx, c.server.Company, (*company.Company).Follow, company.EventStream{
		Dir: c.server.In(), ProjectID: c.server.ProjectID, RunID: at.SessionID, Since: map[string]int64{at.SessionID: m.Line},
		Deliver: func(live context.Context, e feed.Event) error {
			if e.Seq > m.Line && !c.put(live, at, m.Take(e.Seq, e.Raw)) {
				return context.Canceled
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	return nil
}

func (c *socket) isWire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.naming == frames.ShapeWire
}

// session returns the session that a frame is about: the named one, else the first one that the
// socket follows. It returns "" if the socket does not follow it.
func (c *socket) session(named string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if named == "" {
		named = c.first
	}
	if c.bound[named] == nil {
		return ""
	}
	return named
}

// isBound reports whether the socket is bound to a session.
func (c *socket) isBound() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first != ""
}

// forget stops following a session.
func (c *socket) forget(id string) {
	c.mu.Lock()
	b := c.bound[id]
	delete(c.bound, id)
	if c.first == id {
		c.first = ""
		for other := range c.bound {
			c.first = other
		}
	}
	c.mu.Unlock()
	if b != nil {
		b.cancel()
	}
}

// unbind stops following a session and drops its pending frames. It can then be followed again from
// an earlier event, without newer frames being sent first.
func (c *socket) unbind(id string) {
	c.mu.Lock()
	b := c.bound[id]
	c.mu.Unlock()
	if b == nil {
		return
	}
	b.cancel()
	<-b.ended
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.bound, id)
	kept := c.pending[:0]
	for i := range c.pending {
		if f := c.pending[i]; f.own == nil && f.at.SessionID == id {
			c.bytes -= f.weight()
		} else {
			kept = append(kept, f)
		}
	}
	clear(c.pending[len(kept):])
	c.pending = kept
}

func (c *socket) unbindAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.bound {
		b.cancel()
	}
	clear(c.bound)
}

// tell sends a system message to the followers of a session. The message is in no log.
func (s *server) tell(id, text string) {
	at := s.placeOf(id)
	now := s.Clock.Now()
	said := frames.Message{Role: "system", Content: text, ID: "x" + s.Host.NewID("note"), Timestamp: frames.StampOf(now.UnixMilli()), TimestampMS: now.UnixMilli()}
	for _, l := range s.open.All() {
		if c, ok := l.(*socket); ok && c.session(id) == id {
			c.send(ownFrame{frames.TypeMessage, id, s.hash, frames.NewMessagePayload(said, at)})
		}
	}
}
