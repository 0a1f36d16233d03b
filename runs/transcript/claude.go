package transcript

// claude: stream-json, with and without partial messages, and the one value of
// its json format.

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// claude reads stream-json.
type claude struct {
	// current is the id of the message that streams, by the tool that a sub-agent
	// works for, "" for the agent itself.
	current map[string]string
	blocks  map[string]int // how many blocks of a message have come as a whole
}

// maxMessages bounds the messages that are kept in mind.
const maxMessages = 100

func (c *claude) turn() {}

func (c *claude) clone() decoder {
	return &claude{cloneMap(c.current), cloneMap(c.blocks)}
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	ToolUse  string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
	IsError  bool            `json:"is_error"`
}

// claudeMessage is a message of any type but stream_event.
type claudeMessage struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Parent    string `json:"parent_tool_use_id"`
	Synthetic bool   `json:"isSynthetic"`
	UUID      string `json:"uuid"`
	Message   struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Event      json.RawMessage `json:"event"`
	ToolResult json.RawMessage `json:"tool_use_result"`

	IsError     bool            `json:"is_error"`
	Result      json.RawMessage `json:"result"`
	Errors      []string        `json:"errors"`
	Error       json.RawMessage `json:"error"`
	APIStatus   int             `json:"api_error_status"`
	ErrorStatus int             `json:"error_status"`
	StopReason  string          `json:"stop_reason"`
}

func (c *claude) message(s *Session, line []byte) {
	var m claudeMessage
	if json.Unmarshal(line, &m) != nil {
		return
	}
	s.conversation(m.SessionID)
	switch m.Type {
	case "stream_event":
		c.stream(s, &m)
	case "assistant":
		c.whole(s, &m)
	case "user":
		c.user(s, &m)
	case "system":
		c.system(s, &m)
	case "result":
		c.result(s, &m)
	}
}

// claudeEvent is a part of a message that streams.
type claudeEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID string `json:"id"`
	} `json:"message"`
	Block claudeBlock `json:"content_block"`
	Delta struct {
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
	} `json:"delta"`
}

func (c *claude) stream(s *Session, m *claudeMessage) {
	var e claudeEvent
	if json.Unmarshal(m.Event, &e) != nil {
		return
	}
	switch e.Type {
	case "message_start":
		if c.current == nil || len(c.current) > maxMessages {
			c.current = map[string]string{}
		}
		c.current[m.Parent] = e.Message.ID
	case "content_block_start":
		id := c.place(c.current[m.Parent], e.Index, e.Block.ID)
		if s.find(id) == nil {
			c.begin(s, e.Block, id, m.Parent)
		}
	case "content_block_delta":
		if item := s.find(c.place(c.current[m.Parent], e.Index, "")); item != nil {
			s.append(item, e.Delta.Text+e.Delta.Thinking)
		}
	}
}

// place is the id of a content block: the tool's own, else its place in the message.
func (c *claude) place(message string, index int, own string) string {
	if own != "" {
		return own
	}
	return message + "#" + strconv.Itoa(index)
}

// begin opens the item of a block, nil for a block that shows nothing.
func (c *claude) begin(s *Session, b claudeBlock, id, parent string) *Item {
	item := Item{ID: id, Role: RoleAssistant, Parent: parent}
	switch b.Type {
	case "text":
		item.Kind, item.Text = KindMessage, b.Text
	case "thinking":
		item.Kind, item.Text = KindReasoning, b.Thinking
	case "tool_use", "server_tool_use":
		item.Kind, item.Tool = KindTool, &Tool{Name: b.Name, Title: b.Name, Kind: claudeKind(b.Name), Status: ToolPending}
		if item.Tool.Kind == "edit" {
			item.Kind = KindFileChange
		}
	default:
		return nil
	}
	return s.open(item)
}

// whole takes a message as it stands: each line of it brings further blocks.
func (c *claude) whole(s *Session, m *claudeMessage) {
	var word string
	_ = json.Unmarshal(m.Error, &word) // of a message that is an error
	var blocks []claudeBlock
	_ = json.Unmarshal(m.Message.Content, &blocks) // other content is none
	if word != "" {                                // said by the program, not by its model
		for _, b := range blocks {
			s.failure.told(b.Text, 0, word)
			s.notice(b.Text)
		}
		return
	}
	if c.blocks == nil || len(c.blocks) > maxMessages { // ids of messages that are long over
		c.blocks = map[string]int{m.Message.ID: c.blocks[m.Message.ID]}
	}
	for _, b := range blocks {
		id := c.place(m.Message.ID, c.blocks[m.Message.ID], b.ID)
		c.blocks[m.Message.ID]++
		item := s.find(id)
		if item == nil {
			if b.ID == "" && s.over(id) {
				continue
			}
			if item = c.begin(s, b, id, m.Parent); item == nil {
				continue
			}
		}
		if item.Tool != nil {
			claudeCall(item, b)
			s.update(item)
			continue
		}
		s.replace(item, b.Text+b.Thinking)
		s.close(item)
	}
}

// user takes what is said to the model: the results of its tools, and what a person said.
func (c *claude) user(s *Session, m *claudeMessage) {
	var blocks []claudeBlock
	if json.Unmarshal(m.Message.Content, &blocks) != nil {
		var text string
		_ = json.Unmarshal(m.Message.Content, &text) // other content is none
		blocks = []claudeBlock{{Type: "text", Text: text}}
	}
	for _, b := range blocks {
		switch b.Type {
		case "tool_result":
			c.answered(s, m, b, len(blocks) == 1)
		case "text":
			if m.Parent == "" && !m.Synthetic && !strings.HasPrefix(b.Text, "[Request interrupted by user") {
				s.echo(m.UUID, b.Text)
			}
		}
	}
}

// answered closes the tool whose result came.
func (c *claude) answered(s *Session, m *claudeMessage, b claudeBlock, alone bool) {
	item := s.find(b.ToolUse)
	if item == nil || item.Tool == nil {
		return
	}
	text := resultText(b.Content)
	var result struct {
		Stdout string            `json:"stdout"`
		Patch  []json.RawMessage `json:"structuredPatch"`
	}
	if alone && json.Unmarshal(m.ToolResult, &result) == nil {
		text = firstOf(result.Stdout, text)
		if diff := claudePatch(item, result.Patch); diff != "" {
			item.Tool.setDiff(diff)
		}
	}
	item.Tool.setOutput(text)
	item.Tool.Status = ToolCompleted
	if b.IsError {
		item.Tool.Status = ToolFailed
	}
	s.close(item)
}

func (c *claude) system(s *Session, m *claudeMessage) {
	switch m.Subtype {
	case "compact_boundary":
		s.notice("The context was compacted.")
	case "api_retry":
		var word string
		_ = json.Unmarshal(m.Error, &word) // none
		s.failure.retrying(word, m.ErrorStatus)
	}
}

// result is the end of a turn.
func (c *claude) result(s *Session, m *claudeMessage) {
	var text string
	_ = json.Unmarshal(m.Result, &text) // absent in some errors
	switch {
	case m.StopReason == "refusal":
		s.failure.final(firstOf(text, s.facts.Answer, "the model refused to answer"), 0, kindRefused)
	case m.IsError:
		errors := slices.DeleteFunc(m.Errors, func(e string) bool { return strings.TrimSpace(e) == "" })
		text = firstOf(strings.Join(errors, "; "), text, m.Subtype)
		s.failure.final(text, m.APIStatus, "")
		if !s.told && text != s.facts.Answer {
			s.notice(text)
		}
	default:
		s.failure.recovered()
		if strings.TrimSpace(text) != "" && s.facts.Answer == "" { // the json format has nothing else
			s.close(s.open(Item{Kind: KindMessage, Role: RoleAssistant, Text: text}))
		}
	}
}
