package rpc

// Tools for agents over the Model Context Protocol, in the form that it has on
// stdin and stdout: the dialect of this server, with methods of its own.
// https://modelcontextprotocol.io/specification/2025-11-25

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/shape"
)

// mcpVersions are those that are spoken, the newest last.
var mcpVersions = []string{"2025-06-18", "2025-11-25"}

const (
	// maxToolCalls bounds the calls of one agent that are under way.
	maxToolCalls = 32
	// toolGrace is how long calls may go on when the agent says nothing more.
	toolGrace = time.Second
)

// Toolbox is what one MCP server offers.
type Toolbox struct {
	Version string // of this program
	Tools   []Tool
	// Admit, when set, is asked before each call. It returns what the call is carried
	// out with, or why it is refused.
	Admit func(ctx context.Context, arguments json.RawMessage) (context.Context, json.RawMessage, error)
}

// mcpConn is a conversation with one agent.
type mcpConn struct {
	box     Toolbox
	ctx     context.Context //nolint:containedctx // of the conversation
	met     bool            // the agent introduced itself
	running sync.WaitGroup

	mu     sync.Mutex
	out    io.Writer
	failed error                         // of the output
	calls  map[string]context.CancelFunc // under way, by id
}

// Serve answers the requests of one agent until its input or the context ends; calls
// of tools are carried out side by side, and are called off with the context, or a
// second after the end of the input. A line that is no message is answered and changes
// nothing. The error is that of the output. What reads the input may outlive Serve
// until the input ends.
func (t Toolbox) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &mcpConn{box: t, ctx: ctx, out: out, calls: map[string]context.CancelFunc{}}
	messages := make(chan mcpMessage)
	go readMessages(ctx, in, messages)
	for open := true; open && c.writable(); {
		select {
		case <-ctx.Done():
			open = false
		case m, more := <-messages:
			if open = more; more {
				c.take(m.request, m.wrong)
			}
		}
	}
	late := time.AfterFunc(toolGrace, cancel)
	defer late.Stop()
	c.running.Wait()
	return c.failed
}

// mcpMessage is a line of the agent, or what is wrong with it.
type mcpMessage struct {
	request
	wrong *WireError
}

// readMessages reads lines until the input ends, or nobody takes them any more.
func readMessages(ctx context.Context, in io.Reader, messages chan<- mcpMessage) {
	defer close(messages)
	for lines := newFrameReader(in); ; {
		line, err := lines.next()
		if err != nil && !errors.Is(err, errLong) {
			return // the agent is gone
		}
		m := mcpMessage{request{id: nullID}, errRequest}
		if err == nil {
			m.request, m.wrong = parse(line)
			m.params = bytes.Clone(m.params) // the line is reused
		}
		select {
		case messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

// take takes one message.
func (c *mcpConn) take(r request, wrong *WireError) {
	switch {
	case wrong != nil:
		c.answer(r.id, nil, wrong)
	case r.id == nil:
		c.notified(r)
	case c.met && r.method == "tools/call":
		c.begin(r)
	default:
		result, err := c.result(r)
		c.answer(r.id, result, err)
	}
}

func (c *mcpConn) writable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed == nil
}

// answer writes the answer to a request.
func (c *mcpConn) answer(id []byte, result any, err error) {
	c.write(appendAnswer(nil, id, result, err))
}

func (c *mcpConn) write(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = durable.WriteAll(c.out, line)
	}
}

type mcpInitialize struct {
	ProtocolVersion string `json:"protocolVersion"`
}

type mcpServer struct {
	ProtocolVersion string          `json:"protocolVersion"`
	Capabilities    mcpCapabilities `json:"capabilities"`
	ServerInfo      mcpIdentity     `json:"serverInfo"`
}

type mcpCapabilities struct {
	Tools struct{} `json:"tools"`
}

type mcpIdentity struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type mcpTools struct {
	Tools []mcpTool `json:"tools"`
}

type mcpTool struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	InputSchema *shape.Schema `json:"inputSchema"`
	Annotations mcpHints      `json:"annotations"`
}

type mcpHints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// result answers what needs no tool. Before the agent introduced itself there is
// nothing to ask for.
func (c *mcpConn) result(r request) (any, error) {
	switch {
	case r.method == "initialize":
		c.met = true
		return c.box.introduce(r.params), nil
	case r.method == "ping":
		return struct{}{}, nil
	case c.met && r.method == "tools/list":
		return c.box.list(), nil
	}
	return nil, unknownMethod(r.method)
}

func (t Toolbox) introduce(params []byte) mcpServer {
	var asked mcpInitialize
	_ = json.Unmarshal(params, &asked) // of what is not understood the newest version is offered
	if !slices.Contains(mcpVersions, asked.ProtocolVersion) {
		asked.ProtocolVersion = mcpVersions[len(mcpVersions)-1]
	}
	return mcpServer{ProtocolVersion: asked.ProtocolVersion, ServerInfo: mcpIdentity{"ac", t.Version}}
}

func (t Toolbox) list() mcpTools {
	all := mcpTools{Tools: []mcpTool{}}
	for _, tool := range t.Tools {
		all.Tools = append(all.Tools, mcpTool{tool.Name, tool.Description, tool.params.Schema(), mcpHints{ReadOnly: !tool.Acts}})
	}
	return all
}

type mcpCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		ProgressToken json.RawMessage `json:"progressToken"`
	} `json:"_meta"`
}

// begin starts a call. Only an unknown tool is an error of the protocol.
func (c *mcpConn) begin(r request) {
	var call mcpCall
	if err := json.Unmarshal(r.params, &call); err != nil {
		c.answer(r.id, nil, fault.InvalidField("arguments", "must be the name of a tool and its arguments"))
		return
	}
	at := slices.IndexFunc(c.box.Tools, func(tool Tool) bool { return tool.Name == call.Name })
	if at < 0 {
		c.answer(r.id, nil, fault.InvalidField("name", "there is no tool %s", call.Name))
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	id := string(r.id)
	c.mu.Lock()
	_, twice := c.calls[id]
	full := len(c.calls) >= maxToolCalls
	if !twice && !full {
		c.calls[id] = cancel
	}
	c.mu.Unlock()
	if twice || full {
		cancel()
		c.answer(r.id, refused(fault.New(fault.RateLimited, "at most %d calls may be under way, each with an id of its own", maxToolCalls)), nil)
		return
	}
	c.running.Go(func() {
		result := c.carryOut(ctx, c.box.Tools[at], call)
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
		if ctx.Err() == nil { // who called it off waits for no answer
			c.answer(r.id, result, nil)
		}
		cancel()
	})
}

func (c *mcpConn) carryOut(ctx context.Context, tool Tool, call mcpCall) mcpResult {
	if len(call.Meta.ProgressToken) > 0 {
		ctx = context.WithValue(ctx, progressKey{}, &progress{conn: c, token: call.Meta.ProgressToken})
	}
	arguments := call.Arguments
	if c.box.Admit != nil {
		var err error
		if ctx, arguments, err = c.box.Admit(ctx, arguments); err != nil {
			return refused(err)
		}
	}
	return tool.result(ctx, arguments)
}

// notified takes what needs no answer: the wish to call something off. All else
// changes nothing.
func (c *mcpConn) notified(r request) {
	if r.method != "notifications/cancelled" {
		return
	}
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(r.params, &p) // what is not understood names no call
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.calls[string(p.RequestID)]; cancel != nil {
		cancel()
	}
}

type progressKey struct{}

// progress is where a call says how far it is.
type progress struct {
	conn  *mcpConn
	token json.RawMessage
	mu    sync.Mutex
	steps int
}

// Progress says to the agent that a call goes on, where it wants to know.
func Progress(ctx context.Context, message string) {
	p, ok := ctx.Value(progressKey{}).(*progress)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps++
	line, err := Encode(mcpProgress{"2.0", "notifications/progress", mcpStep{p.token, p.steps, message}})
	if err == nil && ctx.Err() == nil {
		p.conn.write(append(line, '\n'))
	}
}

type mcpProgress struct {
	JSONRPC string  `json:"jsonrpc"`
	Method  string  `json:"method"`
	Params  mcpStep `json:"params"`
}

type mcpStep struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress int             `json:"progress"`
	Message  string          `json:"message"`
}
