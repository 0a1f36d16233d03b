package acecode

// The WebSocket of sessions, with backpressure for slow clients. A socket has a cursor in the log
// of each session that it follows. The log is the queue; only a bounded number of bytes is pending
// in memory.

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"ac/dialect/acecode/frames"
	"ac/dialect/ws"
)

// Limits of a socket.
const (
	maxSocketFrame = 1 << 20 // from the client, in bytes
	maxPending     = 512 << 10
	maxBound       = 64 // sessions
	pingEvery      = 20 * time.Second
	pongWithin     = 20 * time.Second
)

// goodbye is the close reason when the server shuts down.
const goodbye = "the server ends"

// multiplexed is the name of the socket for several sessions, which pages open.
const multiplexed = "_multiplex"

// socket is the WebSocket of a client.
type socket struct {
	server *server
	conn   *ws.Conn

	work   context.Context //nolint:containedctx // of what the socket does
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu      sync.Mutex
	naming  frames.Shape
	fixed   bool // the client or the listener chose the naming explicitly
	pending []outgoing
	bytes   int
	room    chan struct{} // closed when a pending frame was taken
	bound   map[string]*binding
	first   string // the session that was bound first
	watches bool
}

// outgoing is a frame that waits to be written.
type outgoing struct {
	frames.Frame
	at  frames.Place
	own *ownFrame // a frame of the socket itself, not of a session's log
}

// ownFrame is a frame that does not come from a log.
type ownFrame struct {
	Type          string `json:"type"`
	SessionID     string `json:"session_id,omitempty"`
	WorkspaceHash string `json:"workspace_hash,omitempty"`
	Payload       any    `json:"payload"`
}

// asUpgrade refuses a request that is not a WebSocket upgrade.
func (r *request) asUpgrade() error {
	if ws.IsUpgrade(r.Request) {
		return nil
	}
	r.w.Header().Set("Upgrade", "websocket")
	return refuse(http.StatusUpgradeRequired, "this is a WebSocket")
}

func tooManySockets() error { return refuse(http.StatusServiceUnavailable, "too many sockets") }

func sessionSocket(s *server, r *request) (any, error) {
	if err := r.asUpgrade(); err != nil {
		return nil, err
	}
	c := &socket{server: s, naming: r.shape, bound: map[string]*binding{}, room: make(chan struct{})}
	c.fixed = r.URL.Query().Get("shape") != "" || s.opts.Shape == "wire" || s.opts.Shape == "document"
	if !c.fixed && r.PathValue("x") == multiplexed {
		c.naming = frames.ShapeWire
	}
	c.work, c.cancel = context.WithCancel(s.work)
	defer c.cancel()
	leave, ok := s.open.Enter(c)
	if !ok {
		return nil, tooManySockets()
	}
	defer leave()
	// A client that may pause reading for longer may also answer a ping later.
	pong := pongWithin + max(0, s.opts.Place.Patience-readPatience)
	conn, err := ws.Accept(r.w, r.Request, ws.Limits{Read: maxSocketFrame, Full: maxReplayBytes, Ping: pingEvery, Pong: pong, Goodbye: goodbye})
	if err != nil {
		return taken{}, nil // the client already has its answer
	}
	conn.Pull(c.next)
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	conn.Serve(s.work, c.take)
	c.cancel()
	c.unbindAll()
	c.tasks.Wait()
	return taken{}, nil
}

// goAway closes the socket because the server shuts down.
func (c *socket) goAway() {
	c.cancel()
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		conn.Close(ws.GoingAway)
	}
}

// next removes and returns the next pending frame.
func (c *socket) next() ([]byte, bool) {
	for {
		c.mu.Lock()
		if len(c.pending) == 0 {
			c.mu.Unlock()
			return nil, false
		}
		f := c.pending[0]
		c.pending[0] = outgoing{}
		c.pending = c.pending[1:]
		c.bytes -= f.weight()
		close(c.room)
		c.room = make(chan struct{})
		naming := c.naming
		c.mu.Unlock()
		text, err := f.encode(naming)
		if err == nil {
			return text, true
		}
		c.server.Log.Error("a frame cannot be written", "type", f.Type, "error", err)
	}
}

func (f *outgoing) encode(naming frames.Shape) ([]byte, error) {
	if f.own != nil {
		own := *f.own
		if naming == frames.ShapeDocument && own.Type == frames.TypeError {
			own.Type = "Error"
		}
		return json.Marshal(own)
	}
	return f.Envelope(f.at, naming).Encode()
}

func (f *outgoing) weight() int {
	if f.own != nil {
		return 300
	}
	return f.Size()
}

// send queues a frame of the socket itself.
func (c *socket) send(f ownFrame) {
	c.mu.Lock()
	c.add(outgoing{own: &f})
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		conn.Wake()
	}
}

func (c *socket) add(f outgoing) {
	c.pending = append(c.pending, f)
	c.bytes += f.weight()
}

// put queues events of a session. It waits while too many bytes are pending (backpressure), and
// returns false once ctx is done.
func (c *socket) put(ctx context.Context, at frames.Place, list []frames.Frame) bool {
	for _, f := range list {
		c.mu.Lock()
		for c.bytes > maxPending {
			room := c.room
			c.mu.Unlock()
			select {
			case <-room:
			case <-ctx.Done():
				return false
			case <-c.work.Done():
				return false
			}
			c.mu.Lock()
		}
		c.join(outgoing{Frame: f, at: at})
		conn := c.conn
		c.mu.Unlock()
		conn.Wake()
	}
	return true
}

// join queues an event. It merges adjacent texts of one item. Of a tool's updates and an agent's
// progress, it keeps only the newest.
func (c *socket) join(f outgoing) {
	if n := len(c.pending); n > 0 {
		last := &c.pending[n-1]
		if _, text := f.Payload.(frames.TextPayload); text && last.own == nil && last.at == f.at && last.Joins(f.Type, f.Payload) {
			c.bytes -= last.weight()
			last.Payload, last.Seq, last.At = frames.Joined(last.Payload, f.Payload), f.Seq, f.At
			c.bytes += last.weight()
			return
		}
	}
	for i := range c.pending {
		if old := &c.pending[i]; old.own == nil && old.at == f.at && old.ReplacedBy(&f.Frame) {
			c.bytes -= old.weight()
			c.pending = append(c.pending[:i], c.pending[i+1:]...)
			break
		}
	}
	c.add(f)
}

// errorFrame is the payload of an error about a frame.
type errorFrame struct {
	Reason  string `json:"reason"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Got     string `json:"got,omitempty"`
}

// complain reports a failed frame to the client. id is the frame's session, "" if unknown. A page
// with several sessions shows the error in that session, or in the one it opened last.
func (c *socket) complain(id, reason, code, message string) {
	c.send(ownFrame{Type: frames.TypeError, SessionID: id, Payload: errorFrame{Reason: reason, Code: code, Message: message}})
}
