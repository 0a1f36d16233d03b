package agent

// The driver of claude, with stream-json in both directions. claude reads a text sent during a
// turn after the next tool result. If there is none, it begins a new turn for the text.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"ac/internal/canonjson"
	"ac/runs/usage"
)

type claude struct {
	host  Host
	start Start

	next   int               // number of our requests
	waits  map[string]string // our open requests: what each asked for
	opened bool

	active    bool
	interrupt bool              // the end of the turn was requested
	steers    map[string]string // sent but not yet begun: our id by the uuid
	results   int               // results received
	saidAt    map[string]int    // value of results when a steer was sent
	asked     map[string]claudeRequest
	last      string // the assistant's last text

	sum  usage.Counters // of the finished turns
	turn usage.Turn     // the current turn

	model string // as of the newest turn
}

// claudeRequest is a request that waits for an answer.
type claudeRequest struct {
	kind  string
	input json.RawMessage
}

// Claude returns a driver for claude with stream-json.
func Claude() Driver {
	return &claude{
		waits: map[string]string{}, steers: map[string]string{}, saidAt: map[string]int{}, asked: map[string]claudeRequest{},
	}
}

type claudeControl struct {
	Type    string `json:"type"`
	ID      string `json:"request_id"`
	Request any    `json:"request"`
}

type claudeInitialize struct {
	Subtype string    `json:"subtype"`
	Hooks   *struct{} `json:"hooks"`
}

type claudeWish struct {
	Subtype string `json:"subtype"`
	Mode    string `json:"mode,omitempty"`
}

type claudeUser struct {
	Type    string        `json:"type"`
	Message claudeContent `json:"message"`
	Parent  *string       `json:"parent_tool_use_id"`
	Session string        `json:"session_id"`
	UUID    string        `json:"uuid"`
}

type claudeContent struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// claudeReply is the response to a request of claude.
type claudeReply struct {
	Type     string             `json:"type"`
	Response claudeReplyContent `json:"response"`
}

type claudeReplyContent struct {
	Subtype  string `json:"subtype"`
	ID       string `json:"request_id"`
	Response any    `json:"response,omitempty"`
	Error    string `json:"error,omitempty"`
}

func (c *claude) Start(h Host, s Start) error {
	c.host, c.start = h, s
	return c.ask("initialize", claudeInitialize{Subtype: "initialize"})
}

// ask sends a control request.
func (c *claude) ask(what string, request any) error {
	c.next++
	id := "ac_" + strconv.Itoa(c.next)
	c.waits[id] = what
	return c.send(claudeControl{Type: "control_request", ID: id, Request: request})
}

func (c *claude) send(v any) error {
	text, err := canonjson.Marshal(v)
	if err != nil {
		return err
	}
	return c.host.Send(text)
}

// uuid derives a UUID in version 4 form from an id of ours. Equal ids have equal UUIDs.
func uuid(id string) string {
	sum := sha256.Sum256([]byte(id))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	text := hex.EncodeToString(sum[:16])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

func (c *claude) say(p Prompt) error {
	return c.send(claudeUser{Type: "user", Message: claudeContent{"user", p.Text}, UUID: uuid(p.ID)})
}

func (c *claude) Prompt(p Prompt) error {
	c.active, c.interrupt = true, false
	err := c.say(p)
	if err == nil {
		c.host.Accepted(uuid(p.ID))
	}
	return err
}

func (c *claude) Steer(p Prompt) error {
	if !c.active {
		return ErrQueue
	}
	id := uuid(p.ID)
	c.steers[id], c.saidAt[id] = p.ID, c.results
	return c.say(p)
}

func (c *claude) Interrupt() error {
	if !c.active || c.interrupt {
		return nil
	}
	c.interrupt = true
	return c.ask("interrupt", claudeWish{Subtype: "interrupt"})
}

func (c *claude) Mode(mode string) error {
	return c.ask("set_permission_mode", claudeWish{Subtype: "set_permission_mode", Mode: ClaudeMode(mode)})
}

// ClaudeMode returns claude's name of a mode. Every mode except plan is claude's default, in
// which claude asks for permissions.
func ClaudeMode(mode string) string {
	if mode == "plan" {
		return mode
	}
	return "default"
}

func (c *claude) Compacts() bool { return true }

func (c *claude) Compact(p Prompt) error {
	p.Text = "/compact"
	return c.Prompt(p)
}

// claudeLine is the part of claude's lines that we use.
type claudeLine struct {
	Type     string `json:"type"`
	Subtype  string `json:"subtype"`
	UUID     string `json:"uuid"`
	IsReplay bool   `json:"isReplay"`
	Model    string `json:"model"` // in init
	Parent   string `json:"parent_tool_use_id"`
	// In command_lifecycle.
	Command string `json:"command_uuid"`
	State   string `json:"state"`
	// In requests and responses.
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	Response  struct {
		Subtype   string `json:"subtype"`
		ID        string `json:"request_id"`
		Error     string `json:"error"`
		ErrorCode string `json:"error_code"`
	} `json:"response"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	// In results.
	IsError  bool            `json:"is_error"`
	NumTurns int             `json:"num_turns"`
	Terminal string          `json:"terminal_reason"`
	Stop     string          `json:"stop_reason"`
	Result   json.RawMessage `json:"result"`
	Errors   []string        `json:"errors"`
	Usage    json.RawMessage `json:"usage"`
	Models   json.RawMessage `json:"modelUsage"`
	Cost     *float64        `json:"total_cost_usd"`
}

func (c *claude) Line(line []byte) {
	line = bytes.TrimSpace(line)
	var m claudeLine
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return
	}
	decode(line, &m)
	c.turn.Line(line)
	switch m.Type {
	case "control_response":
		c.answered(&m)
	case "control_request":
		c.request(&m)
	case "control_cancel_request":
		if _, open := c.asked[m.RequestID]; open {
			delete(c.asked, m.RequestID)
			c.host.Withdrawn(m.RequestID)
		}
	case "command_lifecycle":
		if m.State == "started" {
			c.handleTextRead(m.Command)
		}
	case "user":
		if m.IsReplay {
			c.handleTextRead(m.UUID)
		}
	case "assistant":
		if m.Parent == "" {
			c.keepLastText(m.Message.Content)
		}
	case "system":
		switch m.Subtype {
		case "init":
			c.model = orElse(m.Model, c.model)
		case "compact_boundary":
			c.host.Cycled([]usage.Cycle{{Count: 1, Type: m.Subtype, Source: usage.FromNotification}})
		}
	case "result":
		c.result(&m)
	}
}

// answered handles the response to a request of ours. A refused request other than the handshake
// has no further effect.
func (c *claude) answered(m *claudeLine) {
	what := c.waits[m.Response.ID]
	delete(c.waits, m.Response.ID)
	if what == "set_permission_mode" && m.Response.Subtype == "error" {
		c.host.Notice("The agent does not take the mode: " + m.Response.Error)
	}
	if what != "initialize" || c.opened {
		return
	}
	if m.Response.Subtype == "error" && m.Response.ErrorCode != "unsupported_request" {
		reason := ReasonProtocol
		if needsLogin(m.Response.Error) {
			reason = ReasonAuth
		}
		c.host.HandshakeFailed(HandshakeFailure{Reason: reason, Error: "initialize: " + m.Response.Error})
		return
	}
	c.opened = true
	c.host.HandshakeSucceeded(Conversation{
		Thread: c.start.Thread, Name: "claude", Resumed: c.start.Thread != "", Mode: ClaudeMode(c.start.Mode),
		Capabilities: Capabilities{Steer: true, Interrupt: true, Resume: true, Modes: []string{"default", "plan"}, MCP: true},
	})
}

// handleTextRead records that claude reads a text of ours.
func (c *claude) handleTextRead(id string) {
	steer, ok := c.steers[id]
	if !ok {
		return
	}
	how := MidTurn
	if c.saidAt[id] != c.results {
		how = NextTurn
	}
	delete(c.steers, id)
	delete(c.saidAt, id)
	if !c.active { // claude began a turn for the text by itself
		c.active, c.interrupt = true, false
		c.host.TurnBegan(steer)
		return
	}
	c.host.SteerTaken(steer, how)
}

// keepLastText stores the assistant's last text, which may contain a plan.
func (c *claude) keepLastText(content json.RawMessage) {
	var blocks []struct{ Type, Text string }
	decode(content, &blocks)
	for _, b := range blocks {
		if b.Type == "text" && strings.TrimSpace(b.Text) != "" {
			c.last = b.Text
		}
	}
}

// result handles the end of a turn, or of a process that could not find its conversation.
func (c *claude) result(m *claudeLine) {
	if !c.opened {
		b := HandshakeFailure{Reason: ReasonProtocol, Error: claudeError(m)}
		if c.start.Thread != "" && m.IsError && m.NumTurns == 0 {
			b.Reason, b.Restart = ReasonResume, !c.start.MustResume
		}
		c.host.HandshakeFailed(b)
		return
	}
	c.results++
	c.used(m)
	if !c.active {
		return
	}
	c.active = false
	o := Outcome{Status: Failed, StopReason: m.Stop}
	switch {
	case c.interrupt && (strings.HasPrefix(m.Terminal, "aborted") || m.IsError):
		o.Status = Interrupted
	case !m.IsError:
		o.Status = Completed
	default:
		o.Error = claudeError(m)
	}
	c.interrupt = false
	clear(c.asked)
	c.host.TurnEnded(o)
}

func claudeError(m *claudeLine) string {
	if len(m.Errors) > 0 {
		return strings.Join(m.Errors, "\n")
	}
	text := ""
	decode(m.Result, &text)
	return orElse(text, orElse(m.Subtype, "claude failed"))
}

// used adds the usage of a turn. claude reports the cost as a total of the conversation.
func (c *claude) used(m *claudeLine) {
	var u struct {
		Input    int64  `json:"input_tokens"`
		Created  *int64 `json:"cache_creation_input_tokens"`
		Cached   int64  `json:"cache_read_input_tokens"`
		Output   int64  `json:"output_tokens"`
		Thinking struct {
			Tokens int64 `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	}
	if len(m.Usage) == 0 {
		return
	}
	decode(m.Usage, &u)
	if u.Created != nil {
		u.Input += *u.Created
	}
	thinking := min(u.Thinking.Tokens, u.Output)
	c.sum = c.turn.Total(c.sum, usage.Counters{
		Input: &u.Input, Cached: &u.Cached, Output: new(u.Output - thinking), Reasoning: &thinking,
		Total: u.Input + u.Cached + u.Output, CacheWrite: u.Created,
	}, m.Models, c.start.Baseline.Counters)
	c.model = orElse(c.turn.Model(), c.model)
	c.turn = usage.Turn{}
	r := usage.Report{Counters: c.sum, Captured: "result", Model: c.model}
	if m.Cost != nil {
		base := 0.0
		if b := c.start.Baseline.CostUSD; b != nil {
			base = *b
		}
		r.CostUSD = new(max(0, *m.Cost-base))
	}
	c.host.Used(r)
}
