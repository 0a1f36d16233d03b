package rpc

// The lines between an agent and the SDK that serves it: those that are no message, or
// none that is served, are answered here and change nothing.

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

// agentConn is a conversation with one agent. Requests have ids of ours behind it, so
// that each is answered with its own, whatever an agent takes for one.
type agentConn struct {
	ctx      context.Context //nolint:containedctx // of the conversation
	cancel   context.CancelFunc
	messages chan agentMessage

	mu      sync.Mutex
	out     io.Writer
	failed  error // of the output
	met     bool  // the agent introduced itself
	ready   bool  // and said that it begins
	last    int64
	pending map[int64]agentRequest // by our id
	over    bool                   // the agent says nothing more
	quiet   chan struct{}          // closed when that is so, and all was answered
}

// agentRequest is a request that is under way.
type agentRequest struct {
	id  []byte // the agent's
	off bool   // the agent waits for no answer
}

// agentMessage is a line of the agent, or what is wrong with it.
type agentMessage struct {
	request
	wrong *WireError
}

func newAgentConn(ctx context.Context, cancel context.CancelFunc, in io.Reader, out io.Writer) *agentConn {
	c := &agentConn{ctx: ctx, cancel: cancel, messages: make(chan agentMessage), out: out, pending: map[int64]agentRequest{}, quiet: make(chan struct{})}
	go c.listen(in) // ends with the input or, at the next line, with the conversation
	return c
}

// listen reads lines until the input ends, or nobody takes them any more.
func (c *agentConn) listen(in io.Reader) {
	defer close(c.messages)
	for lines := newFrameReader(in); ; {
		line, err := lines.next()
		if err != nil && !errors.Is(err, errLong) {
			return // the agent is gone
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

// Read is part of sdk.Connection: the next message that is served.
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

// answerAll waits for the answers to what the agent asked before it was gone, for a
// moment.
func (c *agentConn) answerAll() {
	late := time.AfterFunc(toolGrace, c.cancel)
	defer late.Stop()
	c.mu.Lock()
	c.over = true
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

// take is a message as the SDK gets it, nil for one that was answered, or needs none.
func (c *agentConn) take(m agentMessage) *jsonrpc.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case m.wrong != nil:
		c.write(appendAnswer(nil, m.id, nil, m.wrong))
		return nil
	case m.id == nil:
		return c.notified(m.request)
	case m.method == "initialize" && c.met:
		c.write(appendAnswer(nil, m.id, nil, errRequest))
		return nil
	case m.method != "initialize" && m.method != "ping" && (!c.met || m.method != "tools/list" && m.method != "tools/call"):
		c.write(appendAnswer(nil, m.id, nil, unknownMethod(m.method)))
		return nil
	}
	c.met = c.met || m.method == "initialize"
	full := len(c.pending) >= maxToolCalls
	for _, p := range c.pending {
		full = full || bytes.Equal(p.id, m.id)
	}
	if full && m.method == "tools/call" {
		refusal := fault.New(fault.RateLimited, "at most %d calls may be under way, each with an id of its own", maxToolCalls)
		c.write(appendAnswer(nil, m.id, refused(refusal), nil))
		return nil
	}
	c.last++
	c.pending[c.last] = agentRequest{id: m.id}
	id, _ := jsonrpc.MakeID(float64(c.last)) // a number is an id
	return &jsonrpc.Request{ID: id, Method: m.method, Params: m.params}
}

// notified is what needs no answer as the SDK gets it: that the agent begins, once, and
// that it calls something off. All else changes nothing.
func (c *agentConn) notified(r request) *jsonrpc.Request {
	switch {
	case r.method == "notifications/initialized" && c.met && !c.ready:
		c.ready = true
		return &jsonrpc.Request{Method: r.method}
	case r.method != "notifications/cancelled":
		return nil
	}
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(r.params, &p) // what is not understood names no request
	for ours, pending := range c.pending {
		if bytes.Equal(pending.id, p.RequestID) {
			pending.off = true
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
	if c.over && len(c.pending) == 0 {
		defer close(c.quiet)
	}
	switch {
	case pending.id == nil || pending.off || c.ctx.Err() != nil: // nobody waits for it
	case response.Error != nil:
		c.write(appendAnswer(nil, pending.id, nil, wireOf(response.Error)))
	default:
		c.write(appendAnswer(nil, pending.id, response.Result, nil))
	}
	return c.failed
}

// wireOf is an error of the SDK as it is written.
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

// write writes a line, and ends the conversation when that cannot be done.
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
