package agent

// The driver of codex's app server, which uses JSON-RPC without the jsonrpc member. One thread is
// the conversation. Its subagents have threads of their own on the same connection.

import (
	"encoding/json"
	"strings"

	"ac/runs/usage"
)

type codex struct {
	host  Host
	rpc   rpcConn
	start Start

	thread   string
	resumed  bool
	prompted bool   // a turn has begun, so totals are no longer a baseline
	refused  string // why the conversation could not be resumed
	version  string // of the agent
	model    string // of the thread, "" if it names none
	rerouted string // the model that replaces it in this turn, "" for none
	failed   string // the last reported error

	turns     int    // turns begun
	active    bool   // a turn is active
	turn      string // id of the turn, "" until known
	interrupt bool   // requested but not yet sent
	early     []Prompt
	steers    map[string]bool // sent but not yet taken

	baseline usage.Counters
	charged  map[string]usage.Report // by thread
	asked    map[string]codexRequest
	changes  map[string]codexChange // by item
}

// Codex returns a driver for codex app-server.
func Codex() Driver {
	return &codex{steers: map[string]bool{}, charged: map[string]usage.Report{}, asked: map[string]codexRequest{}, changes: map[string]codexChange{}}
}

type clientInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// clientName is our client name in the handshake.
const clientName = "agentcompany"

type codexInitialize struct {
	ClientInfo   clientInfo `json:"clientInfo"`
	Capabilities *struct{}  `json:"capabilities"`
}

// codexThread holds the params of thread/start and thread/resume.
type codexThread struct {
	ThreadID       string       `json:"threadId,omitempty"`
	Model          *string      `json:"model"`
	Cwd            string       `json:"cwd"`
	ApprovalPolicy string       `json:"approvalPolicy"`
	Reviewer       string       `json:"approvalsReviewer,omitempty"`
	Sandbox        string       `json:"sandbox"`
	Config         *codexConfig `json:"config,omitempty"`
	ExcludeTurns   bool         `json:"excludeTurns,omitempty"`
}

// codexConfig is a thread's configuration, in addition to the user's own.
type codexConfig struct {
	Features map[string]bool        `json:"features,omitempty"`
	Servers  map[string]codexServer `json:"mcp_servers,omitempty"`
}

type codexTurn struct {
	ThreadID string      `json:"threadId"`
	Expected string      `json:"expectedTurnId,omitempty"`
	Client   string      `json:"clientUserMessageId,omitempty"`
	Input    []codexText `json:"input"`
	Model    string      `json:"model,omitempty"`
}

type codexText struct {
	Type     string   `json:"type"`
	Text     string   `json:"text"`
	Elements []string `json:"text_elements"`
}

type codexTurnRef struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId,omitempty"`
}

func (c *codex) Start(h Host, s Start) error {
	c.host, c.start, c.baseline = h, s, s.Baseline.Counters
	c.rpc.send = h.Send
	return c.rpc.call("initialize", codexInitialize{ClientInfo: clientInfo{Name: clientName, Version: s.Version}}, func(result json.RawMessage, failed *failure) {
		if failed != nil {
			c.broke("initialize", failed)
			return
		}
		var hello struct {
			UserAgent string `json:"userAgent"`
		}
		decode(result, &hello)
		_, version, _ := strings.Cut(hello.UserAgent, "/")
		c.version, _, _ = strings.Cut(version, " ")
		err := c.rpc.notify("initialized", nil)
		if err == nil {
			err = c.open(s.Thread)
		}
		c.cannotSend(err)
	})
}

// cannotSend fails the handshake if a frame could not be written.
func (c *codex) cannotSend(err error) {
	if err != nil {
		c.host.HandshakeFailed(HandshakeFailure{Reason: ReasonStuck, Error: err.Error()})
	}
}

// open starts the thread, or resumes one.
func (c *codex) open(thread string) error {
	p := codexThread{ThreadID: thread, Cwd: c.start.Dir, ApprovalPolicy: "never", Sandbox: c.start.Sandbox, Config: c.config()}
	if c.start.Model != "" {
		p.Model = &c.start.Model
	}
	if c.start.HasApprover {
		p.ApprovalPolicy, p.Reviewer = "untrusted", "user"
	}
	method := "thread/start"
	if thread != "" {
		method, p.ExcludeTurns, c.resumed, c.thread = "thread/resume", true, true, thread
	}
	return c.rpc.call(method, p, func(result json.RawMessage, failed *failure) { c.opened(method, result, failed) })
}

func (c *codex) opened(method string, result json.RawMessage, failed *failure) {
	if failed != nil && c.resumed && !c.start.MustResume {
		c.resumed, c.refused, c.thread, c.baseline = false, failed.words(), "", usage.Counters{}
		c.cannotSend(c.open(""))
		return
	}
	var known struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
		Model string `json:"model"`
	}
	decode(result, &known)
	switch {
	case failed != nil && c.resumed:
		c.host.HandshakeFailed(HandshakeFailure{Reason: ReasonResume, Error: method + ": " + failed.words()})
	case failed != nil:
		c.broke(method, failed)
	case known.Thread.ID == "":
		c.host.HandshakeFailed(HandshakeFailure{Reason: ReasonProtocol, Error: method + ": the answer names no thread"})
	default:
		c.thread, c.model = known.Thread.ID, known.Model
		c.host.HandshakeSucceeded(Conversation{
			Thread: c.thread, Name: "codex", Version: c.version, Resumed: c.resumed, ResumeError: c.refused, Model: c.model,
			Capabilities: Capabilities{Steer: true, Interrupt: true, Resume: true, Modes: []string{}, MCP: true},
		})
	}
}

// broke reports a failed handshake with the agent's error message.
func (c *codex) broke(method string, failed *failure) {
	reason := ReasonProtocol
	if needsLogin(failed.words()) {
		reason = ReasonAuth
	}
	c.host.HandshakeFailed(HandshakeFailure{Reason: reason, Error: method + ": " + failed.words()})
}

// needsLogin recognizes error messages that ask for a login.
func needsLogin(words string) bool {
	words = strings.ToLower(words)
	for _, sign := range []string{"not logged in", "login required", "log in", "authentication required", "unauthorized"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}

// config returns the configuration of a thread, nil for the user's own only.
func (c *codex) config() *codexConfig {
	if len(c.start.Servers) == 0 {
		return nil
	}
	config := &codexConfig{Features: map[string]bool{}, Servers: codexServers(c.start.Servers)}
	for _, name := range c.start.Without {
		config.Features[name] = false
	}
	return config
}

func codexInput(text string) []codexText {
	return []codexText{{Type: "text", Text: text, Elements: []string{}}}
}

func (c *codex) Prompt(p Prompt) error {
	c.begin()
	c.model = orElse(p.Model, c.model)
	return c.rpc.call("turn/start", codexTurn{ThreadID: c.thread, Client: p.ID, Input: codexInput(p.Text), Model: p.Model}, c.begun("turn/start"))
}

func (c *codex) begin() {
	c.turns++
	c.active, c.prompted, c.turn, c.interrupt, c.failed, c.rerouted = true, true, "", false, "", ""
}

// begun returns a handler for the response to a call that begins a turn.
func (c *codex) begun(method string) func(json.RawMessage, *failure) {
	turn := c.turns
	return func(result json.RawMessage, failed *failure) {
		if c.turns != turn {
			return // that turn is over
		}
		if failed != nil {
			c.ended(Outcome{Status: Failed, Error: method + ": " + failed.words()})
			return
		}
		var known struct {
			Turn struct {
				ID string `json:"id"`
			} `json:"turn"`
		}
		decode(result, &known)
		c.setTurnID(known.Turn.ID)
	}
}

// setTurnID records the id of the turn, and sends what waited for it.
func (c *codex) setTurnID(turn string) {
	if !c.active || c.turn != "" || turn == "" {
		return
	}
	c.turn = turn
	c.host.Accepted(turn)
	early := c.early
	c.early = nil
	for _, p := range early {
		if err := c.Steer(p); err != nil {
			c.host.SteerReturned(p.ID)
		}
	}
	if c.interrupt {
		_ = c.Interrupt() // best effort: the turn exposes an agent that does not read, as it does not end
	}
}

func (c *codex) Steer(p Prompt) error {
	switch {
	case !c.active:
		return ErrQueue
	case c.turn == "":
		c.early = append(c.early, p)
		return nil
	}
	c.steers[p.ID] = true
	return c.rpc.call("turn/steer", codexTurn{ThreadID: c.thread, Expected: c.turn, Client: p.ID, Input: codexInput(p.Text)}, func(_ json.RawMessage, failed *failure) {
		switch {
		case !c.steers[p.ID]: // its item arrived first
		case failed == nil:
			c.taken(p.ID)
		case strings.Contains(failed.Message, "no active turn to steer"), strings.Contains(failed.Message, "expected active turn id"):
			delete(c.steers, p.ID)
			c.host.SteerReturned(p.ID)
		default:
			delete(c.steers, p.ID)
			c.host.SteerRefused(p.ID, failed.words())
		}
	})
}

func (c *codex) taken(id string) {
	delete(c.steers, id)
	c.host.SteerTaken(id, MidTurn)
}

func (c *codex) Interrupt() error {
	if !c.active {
		return nil
	}
	if c.interrupt = c.turn == ""; c.interrupt {
		return nil
	}
	return c.rpc.call("turn/interrupt", codexTurnRef{c.thread, c.turn}, func(json.RawMessage, *failure) {})
}

func (c *codex) Mode(string) error { return nil } // the sandbox stays; permission requests are judged under the new mode

func (c *codex) Compacts() bool { return true }

func (c *codex) Compact(Prompt) error {
	c.begin()
	return c.rpc.call("thread/compact/start", codexTurnRef{ThreadID: c.thread}, c.begun("thread/compact/start"))
}

// codexNotice is the part of notifications that we use.
type codexNotice struct {
	ThreadID   string          `json:"threadId"`
	RequestID  json.RawMessage `json:"requestId"`
	TokenUsage json.RawMessage `json:"tokenUsage"`
	ToModel    string          `json:"toModel"` // in model/rerouted
	Item       json.RawMessage `json:"item"`
	Turn       struct {
		ID     string `json:"id"`
		Status string `json:"status"`
		Error  struct {
			Message string `json:"message"`
		} `json:"error"`
	} `json:"turn"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (c *codex) Line(line []byte) {
	m, ok := c.rpc.take(line)
	if !ok {
		return
	}
	if m.isRequest() {
		c.request(m)
		return
	}
	var n codexNotice
	decode(m.Params, &n)
	c.notice(m.Method, &n)
	if cycles := usage.NotificationCycles(m.Method, m.Params); len(cycles) > 0 {
		c.host.Cycled(cycles)
	}
}

func (c *codex) notice(method string, n *codexNotice) {
	if method == "thread/tokenUsage/updated" {
		c.used(n)
	}
	if n.ThreadID != "" && c.thread != "" && n.ThreadID != c.thread {
		return // from a subagent
	}
	switch method {
	case "item/started", "item/completed":
		c.item(n.Item)
	case "serverRequest/resolved":
		if key := string(n.RequestID); key != "" {
			if _, open := c.asked[key]; open {
				delete(c.asked, key)
				c.host.Withdrawn(key)
			}
		}
	case "model/rerouted":
		c.rerouted = n.ToModel
	case "error":
		c.failed = n.Error.Message
	case "turn/started":
		c.setTurnID(n.Turn.ID)
	case "turn/completed":
		c.completed(n)
	}
}

// completed handles the end of the turn. It ignores the end of an earlier one.
func (c *codex) completed(n *codexNotice) {
	if c.turn != "" && n.Turn.ID != "" && n.Turn.ID != c.turn {
		return
	}
	o := Outcome{Status: n.Turn.Status}
	switch o.Status {
	case Completed, Interrupted:
	default:
		o.Status = Failed
	}
	if o.Status != Completed {
		o.Error = n.Turn.Error.Message
		if o.Error == "" && o.Status == Failed {
			o.Error = c.failed
		}
	}
	c.ended(o)
}

// ended ends the turn. It returns texts that were not sent yet. The agent still responds to those
// that were.
func (c *codex) ended(o Outcome) {
	if !c.active {
		return
	}
	c.active, c.turn, c.interrupt = false, "", false
	clear(c.asked)
	early := c.early
	c.early = nil
	for _, p := range early {
		c.host.SteerReturned(p.ID)
	}
	c.host.TurnEnded(o)
}
