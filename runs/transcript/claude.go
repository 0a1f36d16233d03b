package transcript

// The decoder of claude: stream-json, with and without partial messages, and the single value of
// its json format.

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"ac/runs/failure"
)

// claude decodes stream-json.
type claude struct {
	// current is the id of the streaming message, keyed by the tool that a subagent works for, ""
	// for the agent itself.
	current map[string]string
	blocks  map[string]int // complete blocks received, by message
}

// maxMessages bounds the messages kept in memory.
const maxMessages = 100

func (c *claude) turn() {}

func (c *claude) clone() decoder {
	return &claude{cloneMap(c.current), cloneMap(c.blocks)}
}

// claudeBlock is a content block of a message.
type claudeBlock struct {
	kind, text, thinking string
	id, name             string // for a tool
	use                  string // the tool that a result belongs to
	input, content       []byte
	failed               bool
}

func readClaudeBlock(raw []byte) (b claudeBlock) {
	members(raw, func(name, value []byte) {
		switch string(name) {
		case "type":
			b.kind = textOf(value)
		case "text":
			b.text = textOf(value)
		case "thinking":
			b.thinking = textOf(value)
		case "id":
			b.id = textOf(value)
		case "name":
			b.name = textOf(value)
		case "tool_use_id":
			b.use = textOf(value)
		case "input":
			b.input = value
		case "content":
			b.content = value
		case "is_error":
			b.failed = isTrue(value)
		}
	})
	return b
}

// claudeMessage is a line of claude. Its parts are undecoded.
type claudeMessage struct {
	kind, parent, uuid         string
	synthetic                  bool
	id                         string // of the contained message
	content, event, toolResult []byte
	error                      []byte
}

func (c *claude) message(s *Session, line []byte) {
	var m claudeMessage
	session := ""
	if !scan(line, func(name, value []byte) {
		switch string(name) {
		case "type":
			m.kind = textOf(value)
		case "session_id":
			session = textOf(value)
		case "parent_tool_use_id":
			m.parent = textOf(value)
		case "uuid":
			m.uuid = textOf(value)
		case "isSynthetic":
			m.synthetic = isTrue(value)
		case "message":
			members(value, func(name, value []byte) {
				switch string(name) {
				case "id":
					m.id = textOf(value)
				case "content":
					m.content = value
				}
			})
		case "event":
			m.event = value
		case "tool_use_result":
			m.toolResult = value
		case "error":
			m.error = value
		}
	}) {
		return
	}
	s.conversation(session)
	switch m.kind {
	case "stream_event":
		c.stream(s, &m)
	case "assistant":
		c.whole(s, &m)
	case "user":
		c.user(s, &m)
	case "system", "result":
		c.program(s, line)
	}
}

// claudeEvent is a part of a streaming message.
type claudeEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID string `json:"id"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
	} `json:"delta"`
}

func (c *claude) stream(s *Session, m *claudeMessage) {
	var e claudeEvent
	if json.Unmarshal(m.event, &e) != nil {
		return
	}
	switch e.Type {
	case "message_start":
		if c.current == nil || len(c.current) > maxMessages {
			c.current = map[string]string{}
		}
		c.current[m.parent] = e.Message.ID
	case "content_block_start":
		block := readClaudeBlock(e.Block)
		id := c.blockID(c.current[m.parent], e.Index, block.id)
		if s.find(id) == nil {
			c.begin(s, block, id, m.parent)
		}
	case "content_block_delta":
		if item := s.find(c.blockID(c.current[m.parent], e.Index, "")); item != nil {
			s.append(item, e.Delta.Text+e.Delta.Thinking)
		}
	}
}

// blockID returns the id of a content block: the tool's own, or else its position in the message.
func (c *claude) blockID(message string, index int, own string) string {
	if own != "" {
		return own
	}
	return message + "#" + strconv.Itoa(index)
}

// begin opens the item of a block. It returns nil for a block that is not shown.
func (c *claude) begin(s *Session, b claudeBlock, id, parent string) *Item {
	item := Item{ID: id, Role: RoleAssistant, Parent: parent}
	switch b.kind {
	case "text":
		item.Kind, item.Text = KindMessage, b.text
	case "thinking":
		item.Kind, item.Text = KindReasoning, b.thinking
	case "tool_use", "server_tool_use":
		item.Kind, item.Tool = KindTool, &Tool{Name: b.name, Title: b.name, Kind: claudeKind(b.name), Status: ToolPending}
		if item.Tool.Kind == "edit" {
			item.Kind = KindFileChange
		}
	default:
		return nil
	}
	return s.open(item)
}

// whole handles a complete message. Each of its lines holds further blocks.
func (c *claude) whole(s *Session, m *claudeMessage) {
	word := textOf(m.error)                             // set for an error that the program reports, not the model
	if c.blocks == nil || len(c.blocks) > maxMessages { // forget ids of old messages
		c.blocks = map[string]int{m.id: c.blocks[m.id]}
	}
	elements(m.content, func(raw []byte) {
		b := readClaudeBlock(raw)
		if word != "" {
			s.failure.Report(b.text, 0, word)
			s.notice(b.text)
			return
		}
		id := c.blockID(m.id, c.blocks[m.id], b.id)
		c.blocks[m.id]++
		item := s.find(id)
		switch {
		case item == nil && b.id == "" && s.isClosed(id):
			return
		case item == nil:
			if item = c.begin(s, b, id, m.parent); item == nil {
				return
			}
		}
		if item.Tool != nil {
			claudeCall(item, b.input)
			s.update(item)
			return
		}
		s.replace(item, b.text+b.thinking)
		s.close(item)
	})
}

// user handles messages to the model: tool results and people's texts.
func (c *claude) user(s *Session, m *claudeMessage) {
	said := func(text string) {
		if m.parent == "" && !m.synthetic && !strings.HasPrefix(text, "[Request interrupted by user") {
			s.echo(m.uuid, text)
		}
	}
	if text := textOf(m.content); text != "" {
		said(text)
		return
	}
	var blocks []claudeBlock
	elements(m.content, func(raw []byte) { blocks = append(blocks, readClaudeBlock(raw)) })
	for _, b := range blocks {
		switch b.kind {
		case "tool_result":
			c.answered(s, m, b, len(blocks) == 1)
		case "text":
			said(b.text)
		}
	}
}

// answered closes the tool of a result. The line's structured result belongs to that tool only if
// the line has no other block.
func (c *claude) answered(s *Session, m *claudeMessage, b claudeBlock, alone bool) {
	item := s.find(b.use)
	if item == nil || item.Tool == nil {
		return
	}
	text := ""
	if alone {
		members(m.toolResult, func(name, value []byte) {
			switch string(name) {
			case "stdout":
				text = textOf(value)
			case "structuredPatch":
				if diff := claudePatch(item, value); diff != "" {
					item.Tool.setDiff(diff)
				}
			}
		})
	}
	if text == "" {
		text = resultText(b.content)
	}
	item.Tool.setOutput(text)
	item.Tool.Status = ToolCompleted
	if b.failed {
		item.Tool.Status = ToolFailed
	}
	s.close(item)
}

// claudeProgram is a line about the program itself.
type claudeProgram struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	IsError     bool            `json:"is_error"`
	Result      json.RawMessage `json:"result"`
	Errors      []string        `json:"errors"`
	Error       json.RawMessage `json:"error"`
	APIStatus   int             `json:"api_error_status"`
	ErrorStatus int             `json:"error_status"`
	StopReason  string          `json:"stop_reason"`
}

func (c *claude) program(s *Session, line []byte) {
	var m claudeProgram
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch {
	case m.Type == "result":
		c.result(s, &m)
	case m.Subtype == "compact_boundary":
		s.notice("The context was compacted.")
	case m.Subtype == "api_retry":
		s.failure.Retrying(textOf(m.Error), m.ErrorStatus)
	}
}

// result handles the end of a turn.
func (c *claude) result(s *Session, m *claudeProgram) {
	text := textOf(m.Result) // absent in some errors
	switch {
	case m.StopReason == "refusal":
		s.failure.Final(firstOf(text, s.facts.Answer, "the model refused to answer"), 0, failure.Refused)
	case m.IsError:
		errors := slices.DeleteFunc(m.Errors, func(e string) bool { return strings.TrimSpace(e) == "" })
		text = firstOf(strings.Join(errors, "; "), text, m.Subtype)
		s.failure.Final(text, m.APIStatus, "")
		if !s.hasTextEvents && text != s.facts.Answer {
			s.notice(text)
		}
	default:
		s.failure.Recovered()
		if strings.TrimSpace(text) != "" && s.facts.Answer == "" { // the json format has no other answer
			s.close(s.open(Item{Kind: KindMessage, Role: RoleAssistant, Text: text}))
		}
	}
}
