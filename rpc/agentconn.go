package rpc

// The transport between one agent and the MCP SDK. It answers malformed lines and unserved requests
// itself, so that they change no state.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ac/internal/durable"
	"ac/internal/fault"
)

// agentConn is the connection to one agent. It replaces the agent's request ids with its own before
// the SDK sees them, so that each answer carries the agent's id, whatever that is.
type agentConn struct {
	ctx      context.Context //nolint:containedctx // of the conversation
	cancel   context.CancelFunc
	messages chan agentMessage

	mu                 sync.Mutex
	out                io.Writer
	failed             error // of the output
	initializeReceived bool  // initialize was received
	ready              bool  // notifications/initialized was received
	last               int64
	pending            map[int64]agentRequest // by our id
	inputEnded         bool                   // the agent's input has ended
	quiet              chan struct{}          // closed when over is set and every request is answered
}

// agentRequest is a request in flight.
type agentRequest struct {
	id       []byte // the agent's
	canceled bool   // the agent canceled it and waits for no answer
}

// agentMessage is one line from the agent: a request, or the error to answer with.
type agentMessage struct {
	request
	wrong *WireError
}

func newAgentConn(ctx context.Context, cancel context.CancelFunc, in io.Reader, out io.Writer) *agentConn {
	c := &agentConn{ctx: ctx, cancel: cancel, messages: make(chan agentMessage), out: out, pending: map[int64]agentRequest{}, quiet: make(chan struct{})}
	go c.listen(in) // ends with the input or, at the next line, with the conversation
	return c
}

// listen reads lines until the input ends or the context is done.
func (c *agentConn) listen(in io.Reader) {
	defer close(c.messages)
	for lines := newFrameReader(in); ; {
		line, err := lines.next()
		if err != nil && !errors.Is(err, errLong) {
			return // the agent has disconnected
		}
		m := agentMessage{request{id: nullID}, errRequest}
		if err == nil {
			m.request, m.wrong = parse(line)
			m.params = bytes.Clone(m.params) // the line is reused
		}
		select {
		case c.messages <- m:
		case <-c.ctx.Done():
			return
		}
	}
}

// Connect is part of sdk.Transport.
func (c *agentConn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID is part of sdk.Connection.
func (c *agentConn) SessionID() string { return "" }

// Close is part of sdk.Connection.
func (c *agentConn) Close() error {
	c.cancel()
	return nil
}

// Read is part of sdk.Connection: it returns the next message that the SDK serves.
func (c *agentConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-c.ctx.Done():
			return nil, io.EOF
		case m, more := <-c.messages:
			if !more {
				c.answerAll()
				return nil, io.EOF
			}
			if served := c.take(m); served != nil {
				return served, nil
			}
		}
	}
}

// answerAll waits until every pending request is answered, for at most toolGrace.
func (c *agentConn) answerAll() {
	late := time.AfterFunc(toolGrace, c.cancel)
	defer late.Stop()
	c.mu.Lock()
	c.inputEnded = true
	quiet := len(c.pending) == 0
	c.mu.Unlock()
	if quiet {
		return
	}
	select {
	case <-c.quiet:
	case <-c.ctx.Done():
	}
}

// take converts a message for the SDK. It returns nil if the message is already answered or needs
// no answer.
func (c *agentConn) take(m agentMessage) *jsonrpc.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.wrong != nil:
		c.write(appendAnswer(nil, m.id, nil, m.wrong))
		return nil
	case m.id == nil:
		return c.convertNotification(m.request)
	case m.method == "initialize" && c.initializeReceived:
		c.write(appendAnswer(nil, m.id, nil, errRequest))
		return nil
	case m.method != "initialize" && m.method != "ping" && (!c.initializeReceived || m.method != "tools/list" && m.method != "tools/call"):
		c.write(appendAnswer(nil, m.id, nil, unknownMethod(m.method)))
		return nil
	}
	c.initializeReceived = c.initializeReceived || m.method == "initialize"
	full := len(c.pending) >= maxToolCalls
	for _, p := range c.pending {
		full = full || bytes.Equal(p.id, m.id)
	}
	if full && m.method == "tools/call" {
		refusal := fault.New(fault.RateLimited, "at most %d calls may be under way, each with an id of its own", maxToolCalls)
		c.write(appendAnswer(nil, m.id, errorResult(refusal), nil))
		return nil
	}
	c.last++
	c.pending[c.last] = agentRequest{id: m.id}
	id, _ := jsonrpc.MakeID(float64(c.last)) // a number is an id
	return &jsonrpc.Request{ID: id, Method: m.method, Params: m.params}
}

// convertNotification converts a notification for the SDK: the first notifications/initialized, or the
// cancellation of a pending request. It returns nil for any other, which is ignored.
func (c *agentConn) convertNotification(r request) *jsonrpc.Request {
	switch {
	case r.method == "notifications/initialized" && c.initializeReceived && !c.ready:
		c.ready = true
		return &jsonrpc.Request{Method: r.method}
	case r.method != "notifications/cancelled":
		return nil
	}
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(r.params, &p) // params that do not decode match no request
	for ours, pending := range c.pending {
		if bytes.Equal(pending.id, p.RequestID) {
			pending.canceled = true
			c.pending[ours] = pending
			params, _ := json.Marshal(sdk.CancelledParams{RequestID: ours}) // it encodes
			return &jsonrpc.Request{Method: r.method, Params: params}
		}
	}
	return nil
}

// Write is part of sdk.Connection.
func (c *agentConn) Write(_ context.Context, m jsonrpc.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	response, ok := m.(*jsonrpc.Response)
	if !ok {
		line, err := jsonrpc.EncodeMessage(m)
		if err == nil && c.ctx.Err() == nil {
			c.write(append(line, '\n'))
		}
		return errors.Join(err, c.failed)
	}
	ours, _ := response.ID.Raw().(int64)
	pending := c.pending[ours]
	delete(c.pending, ours)
	if c.inputEnded && len(c.pending) == 0 {
		defer close(c.quiet)
	}
	switch {
	case pending.id == nil || pending.canceled || c.ctx.Err() != nil: // the agent expects no answer
	case response.Error != nil:
		c.write(appendAnswer(nil, pending.id, nil, wireOf(response.Error)))
	default:
		c.write(appendAnswer(nil, pending.id, response.Result, nil))
	}
	return c.failed
}

// wireOf converts an error of the SDK to a WireError.
func wireOf(err error) *WireError {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return &WireError{Code: CodeInvalidRequest, Message: err.Error()}
	}
	wire := &WireError{Code: int(e.Code), Message: e.Message}
	if len(e.Data) > 0 {
		wire.Data = e.Data
	}
	return wire
}

// write writes a line. If that fails, it records the error and cancels the conversation.
func (c *agentConn) write(line []byte) {
	if c.failed != nil {
		return
	}
	if c.failed = durable.WriteAll(c.out, line); c.failed != nil {
		c.cancel()
	}
}

func (c *agentConn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}
