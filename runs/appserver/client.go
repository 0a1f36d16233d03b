// Package appserver is the client of the codex app server: one thread, one turn,
// over the provider's own dialect of JSON-RPC, which has no jsonrpc member.
//
// The process is somebody else's: lines of its output come in, lines for its
// input go out. Lines that are no messages are passed over.
package appserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"ac/runs/usage"
)

// Statuses of a turn.
const (
	Completed   = "completed"
	Interrupted = "interrupted"
	Failed      = "failed"
)

// Spec is the turn that is wanted.
type Spec struct {
	Version string // ours
	Model   string // "" for the provider's choice
	Dir     string
	Prompt  string
	Sandbox string // by its name in the protocol
	// Without are features that the thread does not have, Files the command that
	// serves it files to read instead; nil for neither.
	Without, Files []string
}

// Notices are told what becomes known while the turn goes on, one at a time. A
// nil one is not told.
type Notices struct {
	Thread func(id string)
	Turn   func(id string)
	Usage  func(usage.Report)
	Cycles func([]usage.Cycle)
}

// Outcome is how the turn went. Status is empty when the provider ended before
// it told.
type Outcome struct {
	ThreadID string
	TurnID   string
	Status   string
	Error    string
	Answer   string
}

// Client holds the conversation with one process.
type Client struct {
	conn    *jsonrpc2.Conn
	lines   chan []byte
	notices Notices
	done    chan struct{} // closed when the turn is over

	charged map[string]usage.Report // by thread; of the handler alone

	mu      sync.Mutex
	outcome Outcome
	answer  strings.Builder // comes in pieces of a few letters
	next    uint64
}

// backlog is how many lines may wait to be read.
const backlog = 64

// New makes a client that writes to w. Lines of the provider's output are given
// to Line, and their end to End.
func New(ctx context.Context, w io.Writer, notices Notices) *Client {
	c := &Client{lines: make(chan []byte, backlog), notices: notices, done: make(chan struct{}), charged: map[string]usage.Report{}, next: 1}
	c.conn = jsonrpc2.NewConn(ctx, &dialect{lines: c.lines, w: w}, c, jsonrpc2.SetLogger(silent{}))
	return c
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// Line takes one line of output. It blocks while the client is busy, and never
// once it has ended.
func (c *Client) Line(line []byte) {
	select {
	case c.lines <- append([]byte(nil), line...):
	case <-c.conn.DisconnectNotify():
	}
}

// End tells that no line comes any more.
func (c *Client) End() { close(c.lines) }

// Run carries the turn out and waits for its end, for the end of the provider
// or of the context. The error says which step failed; the outcome holds what
// is known all the same.
func (c *Client) Run(ctx context.Context, spec Spec) (Outcome, error) {
	err := c.steps(ctx, spec)
	if err == nil {
		select {
		case <-c.done:
		case <-c.conn.DisconnectNotify():
			// What the last lines told is taken; the end may be among them.
			select {
			case <-c.done:
			default:
				err = errors.New("the provider ended before its turn was completed")
			}
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	outcome := c.outcome
	outcome.Answer = c.answer.String()
	return outcome, err
}

// Close ends the conversation; the process is not touched.
func (c *Client) Close() { _ = c.conn.Close() } // closed already is closed

type initializeParams struct {
	ClientInfo   clientInfo `json:"clientInfo"`
	Capabilities *struct{}  `json:"capabilities"`
}

type clientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// threadParams asks for a thread in which nobody is asked: what the sandbox does
// not bear fails.
type threadParams struct {
	Model          *string `json:"model"`
	Cwd            string  `json:"cwd"`
	ApprovalPolicy string  `json:"approvalPolicy"`
	Sandbox        string  `json:"sandbox"`

	Config *threadConfig `json:"config,omitempty"`
}

// threadConfig is what a thread is configured with beside the user's own.
type threadConfig struct {
	Features map[string]bool          `json:"features"`
	Servers  map[string]serverProcess `json:"mcp_servers"`
}

// serverProcess is an MCP server.
type serverProcess struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// config is the configuration of a thread, nil for the user's own alone.
func (s Spec) config() *threadConfig {
	if len(s.Files) == 0 {
		return nil
	}
	c := &threadConfig{Features: map[string]bool{}, Servers: map[string]serverProcess{"ac": {s.Files[0], s.Files[1:]}}}
	for _, name := range s.Without {
		c.Features[name] = false
	}
	return c
}

type turnParams struct {
	ThreadID string     `json:"threadId"`
	Input    []textItem `json:"input"`
	Model    string     `json:"model,omitempty"`
}

type textItem struct {
	Type         string   `json:"type"`
	Text         string   `json:"text"`
	TextElements []string `json:"text_elements"`
}

type identified struct {
	ID string `json:"id"`
}

func (c *Client) steps(ctx context.Context, spec Spec) error {
	err := c.call(ctx, "initialize", initializeParams{ClientInfo: clientInfo{"agentcompany", spec.Version}}, nil)
	if err != nil {
		return err
	}
	if err := c.conn.Notify(ctx, "initialized", nil); err != nil {
		return fmt.Errorf("initialized: %w", err)
	}
	var thread struct {
		Thread identified `json:"thread"`
	}
	start := threadParams{Cwd: spec.Dir, ApprovalPolicy: "never", Sandbox: spec.Sandbox, Config: spec.config()}
	if spec.Model != "" {
		start.Model = &spec.Model
	}
	if err := c.call(ctx, "thread/start", start, &thread); err != nil {
		return err
	}
	c.learn(func(o *Outcome) { o.ThreadID = thread.Thread.ID })
	if c.notices.Thread != nil {
		c.notices.Thread(thread.Thread.ID)
	}
	var turn struct {
		Turn identified `json:"turn"`
	}
	input := []textItem{{Type: "text", Text: spec.Prompt, TextElements: []string{}}}
	if err := c.call(ctx, "turn/start", turnParams{thread.Thread.ID, input, spec.Model}, &turn); err != nil {
		return err
	}
	c.learn(func(o *Outcome) { o.TurnID = turn.Turn.ID })
	if c.notices.Turn != nil {
		c.notices.Turn(turn.Turn.ID)
	}
	return nil
}

// call numbers our requests from 1.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	c.mu.Lock()
	id := jsonrpc2.ID{Num: c.next}
	c.next++
	c.mu.Unlock()
	if err := c.conn.Call(ctx, method, params, result, jsonrpc2.PickID(id)); err != nil {
		if errors.Is(err, jsonrpc2.ErrClosed) {
			return fmt.Errorf("%s: the provider ended", method)
		}
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func (c *Client) learn(change func(*Outcome)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.outcome)
}

type interruptParams struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

// Interrupt asks the provider to stop its turn; it does nothing while there is
// none. It does not wait for an answer.
func (c *Client) Interrupt(ctx context.Context) {
	c.mu.Lock()
	o := c.outcome
	id := jsonrpc2.ID{Num: c.next}
	c.next++
	c.mu.Unlock()
	if o.TurnID == "" || o.Status != "" {
		return
	}
	// A provider that is gone cannot be interrupted.
	_, _ = c.conn.DispatchCall(ctx, "turn/interrupt", interruptParams{o.ThreadID, o.TurnID}, jsonrpc2.PickID(id))
}

// message is what notifications carry, as far as it is used.
type message struct {
	ThreadID   string          `json:"threadId"`
	Delta      string          `json:"delta"`
	TokenUsage json.RawMessage `json:"tokenUsage"`
	Turn       struct {
		Status string `json:"status"`
		Error  struct {
			Message string `json:"message"`
		} `json:"error"`
	} `json:"turn"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Handle takes the notifications of the provider. What is of another type than
// it should be counts as absent, and takes nothing else along.
func (c *Client) Handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) {
	var m message
	if r.Params != nil {
		_ = json.Unmarshal(*r.Params, &m)
	}
	c.take(r, m)
	if c.notices.Cycles != nil {
		var params []byte
		if r.Params != nil {
			params = *r.Params
		}
		if cycles := usage.NotificationCycles(r.Method, params); len(cycles) > 0 {
			c.notices.Cycles(cycles)
		}
	}
}

func (c *Client) take(r *jsonrpc2.Request, m message) {
	if r.Method == "thread/tokenUsage/updated" {
		if report, ok := usage.AppServer(m.TokenUsage); ok && c.notices.Usage != nil {
			c.charged[m.ThreadID] = report
			c.notices.Usage(usage.Sum(c.charged))
		}
	}
	if c.isOther(m.ThreadID) {
		return
	}
	switch r.Method {
	case "item/agentMessage/delta":
		c.learn(func(*Outcome) { c.answer.WriteString(m.Delta) })
	case "error":
		c.learn(func(o *Outcome) { o.Error = m.Error.Message })
	case "turn/completed":
		c.learn(func(o *Outcome) {
			if o.Status != "" {
				return
			}
			o.Status = m.Turn.Status
			if o.Status != Completed && o.Status != Interrupted {
				o.Status = Failed
			}
			if m.Turn.Error.Message != "" {
				o.Error = m.Turn.Error.Message
			}
			close(c.done)
		})
	}
}

// isOther reports whether a thread is not ours: agents that ours lets work have
// threads on the same connection, which end before it does.
func (c *Client) isOther(thread string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return thread != "" && c.outcome.ThreadID != "" && thread != c.outcome.ThreadID
}
