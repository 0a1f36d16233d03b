package transcript

// claude: stream-json, with and without partial messages, and the one value of
// its json format.

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"
)

// claude reads stream-json.
type claude struct {
	current string         // id of the message that streams
	blocks  map[string]int // how many blocks of a message have come as a whole
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

type claudeMessage struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Parent    string `json:"parent_tool_use_id"`
	Message   struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Event struct {
		Type    string `json:"type"`
		Index   int    `json:"index"`
		Message struct {
			ID string `json:"id"`
		} `json:"message"`
		Block claudeBlock `json:"content_block"`
		Delta struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
		} `json:"delta"`
	} `json:"event"`
	ToolResult json.RawMessage `json:"tool_use_result"`

	IsError     bool            `json:"is_error"`
	Result      json.RawMessage `json:"result"`
	Errors      []string        `json:"errors"`
	Error       json.RawMessage `json:"error"`
	APIStatus   int             `json:"api_error_status"`
	ErrorStatus int             `json:"error_status"`
	RetryDelay  float64         `json:"retry_delay_ms"`
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
		c.results(s, &m)
	case "system":
		c.system(s, &m)
	case "result":
		c.result(s, &m)
	}
}

// block is the id of a content block: the tool's own, else its place.
func (c *claude) block(message string, index int) string {
	return message + "#" + strconv.Itoa(index)
}

func (c *claude) stream(s *Session, m *claudeMessage) {
	e := &m.Event
	switch e.Type {
	case "message_start":
		c.current = e.Message.ID
	case "content_block_start":
		c.begin(s, e.Block, c.block(c.current, e.Index), m.Parent)
	case "content_block_delta":
		item := s.find(c.block(c.current, e.Index))
		if item == nil {
			return
		}
		s.append(item, e.Delta.Text+e.Delta.Thinking)
	}
}

// begin opens the item of a block.
func (c *claude) begin(s *Session, b claudeBlock, id, parent string) *Item {
	item := Item{ID: id, Role: RoleAssistant, Parent: parent}
	switch b.Type {
	case "text":
		item.Kind, item.Text = KindMessage, b.Text
	case "thinking":
		item.Kind, item.Text = KindReasoning, b.Thinking
	case "tool_use", "server_tool_use":
		item.ID, item.Kind = b.ID, KindTool
		item.Tool = &Tool{Name: b.Name, Title: b.Name, Kind: claudeKind(b.Name), Status: ToolPending}
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
	if c.blocks == nil {
		c.blocks = map[string]int{}
	}
	for _, b := range blocks {
		id := c.block(m.Message.ID, c.blocks[m.Message.ID])
		c.blocks[m.Message.ID]++
		if b.ID != "" {
			id = b.ID
		}
		item := s.find(id)
		if item == nil {
			if item = c.begin(s, b, id, m.Parent); item == nil {
				continue
			}
		}
		switch {
		case item.Tool != nil:
			c.call(item, b)
			s.update(item)
		default:
			s.replace(item, b.Text+b.Thinking)
			s.close(item)
		}
	}
	if len(c.blocks) > 100 { // ids of messages that are long over
		c.blocks = map[string]int{m.Message.ID: c.blocks[m.Message.ID]}
	}
}

// call is what a tool was called with.
func (c *claude) call(item *Item, b claudeBlock) {
	tool := item.Tool
	tool.setInput(b.Input)
	tool.Status = ToolInProgress
	var in struct {
		Command     string `json:"command"`
		FilePath    string `json:"file_path"`
		Notebook    string `json:"notebook_path"`
		Path        string `json:"path"`
		Pattern     string `json:"pattern"`
		URL         string `json:"url"`
		Query       string `json:"query"`
		Description string `json:"description"`
	}
	_ = json.Unmarshal(b.Input, &in) // members of other types are passed over
	file := firstOf(in.FilePath, in.Notebook, in.Path)
	if file != "" {
		tool.Locations = []Location{{Path: file}}
	}
	switch tool.Kind {
	case "execute":
		tool.Title = in.Command
	case "read", "edit":
		tool.Title = tool.Name + " " + path.Base(file)
		if tool.Kind == "edit" {
			item.Kind = KindFileChange
		}
	case "search":
		tool.Title = tool.Name + " " + firstOf(in.Pattern, in.Query)
	case "fetch":
		tool.Title = firstOf(in.URL, in.Query)
	default:
		tool.Title = strings.TrimSpace(tool.Name + " " + in.Description)
	}
	if server, name, ok := mcpName(tool.Name); ok {
		tool.Server, tool.Title = server, server+"/"+name
	}
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// mcpName reads the name of a tool of an MCP server.
func mcpName(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok
}

func claudeKind(name string) string {
	if _, _, ok := mcpName(name); ok {
		return "mcp"
	}
	switch name {
	case "Read", "LS", "NotebookRead":
		return "read"
	case "Glob", "Grep", "WebSearch", "ToolSearch":
		return "search"
	case "Write", "Edit", "MultiEdit", "NotebookEdit":
		return "edit"
	case "WebFetch":
		return "fetch"
	case "Task", "Agent":
		return "think"
	}
	if strings.HasPrefix(name, "Bash") || name == "KillShell" {
		return "execute"
	}
	return "other"
}

// results closes the tools whose results a message of the user's brings.
func (c *claude) results(s *Session, m *claudeMessage) {
	var blocks []claudeBlock
	if json.Unmarshal(m.Message.Content, &blocks) != nil {
		return
	}
	for _, b := range blocks {
		if b.Type != "tool_result" {
			continue
		}
		item := s.find(b.ToolUse)
		if item == nil || item.Tool == nil {
			continue
		}
		text := resultText(b.Content)
		var told struct {
			Stdout string `json:"stdout"`
		}
		if len(blocks) == 1 && json.Unmarshal(m.ToolResult, &told) == nil && told.Stdout != "" {
			text = told.Stdout
		}
		item.Tool.setOutput(text)
		item.Tool.Status = ToolCompleted
		if b.IsError {
			item.Tool.Status = ToolFailed
		}
		s.close(item)
	}
}

func (c *claude) system(s *Session, m *claudeMessage) {
	switch m.Subtype {
	case "compact_boundary":
		s.notice("The context was compacted.")
	case "api_retry":
		var word string
		_ = json.Unmarshal(m.Error, &word)
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
		if len(m.Errors) > 0 {
			text = strings.Join(m.Errors, "; ")
		}
		s.failure.final(firstOf(text, m.Subtype), m.APIStatus, "")
	default:
		s.failure.recovered()
		if strings.TrimSpace(text) != "" && s.facts.Answer == "" { // of the json format, which tells no more
			s.close(s.open(Item{Kind: KindMessage, Role: RoleAssistant, Text: text}))
		}
	}
}
