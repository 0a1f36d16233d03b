package acecode

// The WebSocket of a console: raw output, control frames that begin with a NUL, and input.

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"ac/company/equipment"
	"ac/dialect"
	"ac/dialect/ws"
	"ac/internal/fault"
	"ac/terminal"
)

// maxConsoleUnread limits the write queue, in bytes: one piece of output and the control frames
// around it. The terminal itself keeps the rest.
const maxConsoleUnread = 2 * terminal.ChunkBytes

// consoleView is a client that looks at a console.
type consoleView struct {
	equipment.TerminalWatch
	output consoleOutput
	conn   *ws.Conn

	work   context.Context //nolint:containedctx // of what the socket does
	cancel context.CancelFunc
}

func consoleSocket(s *server, r *request) (any, error) {
	if err := r.asUpgrade(); err != nil {
		return nil, err
	}
	c := &consoleView{}
	var err error
	if c.TerminalWatch, err = s.watchConsole(r); err != nil {
		return nil, err
	}
	defer c.Detach()
	c.output = consoleOutput{at: c.Begin.Cursor, backlog: c.Begin.Terminal.Cursor}
	c.work, c.cancel = context.WithCancel(s.work)
	defer c.cancel()
	leave, ok := s.open.Enter(c)
	if !ok {
		return nil, tooManySockets()
	}
	defer leave()
	c.conn, err = ws.Accept(r.w, r.Request, ws.Limits{Read: maxSocketFrame, Full: maxConsoleUnread, Goodbye: goodbye, Binary: true})
	if err != nil {
		return taken{}, nil // the client has its answer
	}
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		c.follow()
	}()
	c.conn.Serve(c.work, c.take)
	c.cancel()
	<-followed
	return taken{}, nil
}

// watchConsole begins to look at the console of a request, from the place that it wants:
// without one, or above the end, at what comes from now on.
func (s *server) watchConsole(r *request) (w equipment.TerminalWatch, err error) {
	from, notNumber := strconv.ParseInt(strings.TrimSpace(r.URL.Query().Get("cursor")), 10, 64)
	if notNumber != nil {
		from = -1
	}
	p := equipment.AttachTerminalParams{OneTerminal: s.console(r), Cursor: from}
	w, err = dialect.Do(r.Context(), s.Company, equipment.Operations.WatchTerminal, p)
	if fault.Is(err, fault.InvalidParams) && from >= 0 {
		p.Cursor = -1
		w, err = dialect.Do(r.Context(), s.Company, equipment.Operations.WatchTerminal, p)
	}
	return w, err
}

// goAway ends the socket since the server ends.
func (c *consoleView) goAway() { c.cancel() }

// take types what the client sent. What comes after the exit is dropped.
func (c *consoleView) take(typed []byte) {
	if _, err := c.Write(c.work, typed); fault.Is(err, fault.TerminalStalled) {
		c.conn.Close(ws.TryLater)
	}
}

// follow sends the output until the terminal is closed, or the client is gone. Output that
// the client does not take in time stays with the terminal, until that overtakes it: a piece is
// read when the one before, whose memory it takes, is written.
func (c *consoleView) follow() {
	for _, frame := range c.output.begin() {
		c.conn.Send(frame, "")
	}
	for c.conn.Written(c.work) {
		p, err := c.Next(c.work)
		if err != nil {
			return
		}
		for _, frame := range c.output.frames(p) {
			c.conn.Send(frame, "")
		}
		if p.Closed {
			c.conn.Close(ws.Normal)
			return
		}
	}
}

// consoleOutput makes frames of output. It knows where the client believes to be.
type consoleOutput struct {
	at      int64 // behind what was sent
	backlog int64 // the end of what was there at first, -1 once it was sent
	over    bool  // the exit was said
}

// begin is the frame before any output: where nothing is to be replayed, the place.
func (o *consoleOutput) begin() [][]byte {
	if o.at < o.backlog {
		return nil
	}
	o.backlog = -1
	return [][]byte{cursorFrame(o.at)}
}

// frames returns the frames of a piece of output. A frame of output must not begin with a NUL,
// which marks control frames. So NULs at the beginning are left out, and a control frame has the
// new position.
func (o *consoleOutput) frames(p terminal.Piece) (list [][]byte) {
	if len(p.Bytes) > 0 && p.Cursor != o.at { // it was overtaken
		list = append(list, cursorFrame(p.Cursor))
	}
	shown := bytes.TrimLeft(p.Bytes, "\x00")
	if len(shown) > 0 {
		list = append(list, shown)
	}
	replayed := o.backlog >= 0 && p.Next >= o.backlog
	if replayed || len(shown) < len(p.Bytes) {
		list = append(list, cursorFrame(p.Next))
	}
	if replayed {
		o.backlog = -1
	}
	o.at = p.Next
	if p.Over && !o.over && p.Info.ExitCode != nil {
		o.over = true
		list = append(list, controlFrame(exitControl{*p.Info.ExitCode}))
	}
	return list
}

type cursorControl struct {
	Cursor int64 `json:"cursor"`
}

type exitControl struct {
	ExitCode int `json:"exit_code"`
}

// cursorFrame says how many bytes of output there were up to here.
func cursorFrame(at int64) []byte { return controlFrame(cursorControl{at}) }

func controlFrame(control any) []byte {
	text, err := json.Marshal(control)
	if err != nil {
		panic("acecode: numbers that are no JSON") // they are ours
	}
	return append([]byte{0}, text...)
}
