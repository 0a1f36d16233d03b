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
// around it. The terminal buffers the rest.
const maxConsoleUnread = 2 * terminal.ChunkBytes

// consoleView is a client's view of a console.
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
		return taken{}, nil // the client already has its answer
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

// watchConsole attaches to the console of a request at the requested cursor. Without a valid
// cursor, or with one beyond the end, it starts at the end.
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

// goAway closes the socket because the server shuts down.
func (c *consoleView) goAway() { c.cancel() }

// take writes the client's input to the terminal. Input after the exit is dropped.
func (c *consoleView) take(typed []byte) {
	if _, err := c.Write(c.work, typed); fault.Is(err, fault.TerminalStalled) {
		c.conn.Close(ws.TryLater)
	}
}

// follow sends the output until the terminal is closed or the client disconnects. Output that the
// client does not read in time stays in the terminal's buffer until newer output overwrites it.
// Each piece reuses the memory of the previous one, so it is read only after that one was written.
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

// consoleOutput converts output to frames. It tracks the client's cursor.
type consoleOutput struct {
	at      int64 // cursor after what was sent
	backlog int64 // end of the initial backlog, -1 once it was sent
	over    bool  // the exit was sent
}

// begin returns the frame before any output: the cursor, if there is no backlog to replay.
func (o *consoleOutput) begin() [][]byte {
	if o.at < o.backlog {
		return nil
	}
	o.backlog = -1
	return [][]byte{cursorFrame(o.at)}
}

// frames returns the frames for a piece of output. An output frame must not begin with a NUL, which
// marks control frames. So leading NULs are dropped, and a control frame sends the new cursor.
func (o *consoleOutput) frames(p terminal.Piece) (list [][]byte) {
	if len(p.Bytes) > 0 && p.Cursor != o.at { // older output was overwritten
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

// cursorFrame returns the control frame with the number of output bytes so far.
func cursorFrame(at int64) []byte { return controlFrame(cursorControl{at}) }

func controlFrame(control any) []byte {
	text, err := json.Marshal(control)
	if err != nil {
		panic("acecode: numbers that are no JSON") // they are ours
	}
	return append([]byte{0}, text...)
}
