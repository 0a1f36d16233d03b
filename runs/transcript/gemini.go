package transcript

// The decoder of gemini: stream-json, and the single value of its json format.

import (
	"encoding/json"
	"strings"
)

// geminiStream decodes --output-format stream-json.
type geminiStream struct{}

func (*geminiStream) turn() {}

func (*geminiStream) clone() decoder { return &geminiStream{} }

type geminiError struct {
	Type    string          `json:"type"`
	Message string          `json:"message"`
	Code    json.RawMessage `json:"code"`
}

func (e *geminiError) status() (n int) {
	_ = json.Unmarshal(e.Code, &n) // a string is no status
	return n
}

func (*geminiStream) message(s *Session, line []byte) {
	var m struct {
		Type       string          `json:"type"`
		SessionID  string          `json:"session_id"`
		Role       string          `json:"role"`
		Content    string          `json:"content"`
		Delta      bool            `json:"delta"`
		ToolName   string          `json:"tool_name"`
		ToolID     string          `json:"tool_id"`
		Parameters json.RawMessage `json:"parameters"`
		Status     string          `json:"status"`
		Output     string          `json:"output"`
		Severity   string          `json:"severity"`
		Message    string          `json:"message"`
		Error      *geminiError    `json:"error"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	s.conversation(m.SessionID)
	if m.Type != "message" || m.Role != RoleAssistant {
		s.closeMessages()
	}
	switch m.Type {
	case "message":
		if m.Role != RoleAssistant {
			s.echo("", m.Content)
			return
		}
		item := s.openMessage()
		if item == nil {
			item = s.open(Item{Kind: KindMessage, Role: RoleAssistant})
		}
		s.append(item, m.Content)
	case "tool_use":
		if s.find(m.ToolID) != nil {
			return
		}
		item := Item{ID: m.ToolID, Kind: KindTool, Role: RoleAssistant, Tool: &Tool{Name: m.ToolName, Status: ToolInProgress}}
		geminiCall(&item, m.Parameters)
		s.open(item)
	case "tool_result":
		item := s.find(m.ToolID)
		if item == nil || item.Tool == nil {
			return
		}
		text := m.Output
		item.Tool.Status = ToolCompleted
		if m.Status != "success" {
			item.Tool.Status = ToolFailed
			if text == "" && m.Error != nil {
				text = m.Error.Message
			}
		}
		item.Tool.setOutput(text)
		s.close(item)
	case "error":
		s.notice(m.Message)
		s.failure.Report(m.Message, 0, "")
	case "result":
		if m.Status == "error" && m.Error != nil {
			s.failure.Final(m.Error.Message, m.Error.status(), m.Error.Type)
		} else if m.Status == "success" {
			s.failure.Recovered()
		}
	}
}

// openMessage returns the open message, nil for none.
func (s *Session) openMessage() *Item {
	for i := len(s.items) - 1; i >= 0; i-- {
		if s.items[i].Kind == KindMessage {
			return s.items[i]
		}
	}
	return nil
}

func (s *Session) closeMessages() {
	for item := s.openMessage(); item != nil; item = s.openMessage() {
		s.close(item)
	}
}

func geminiCall(item *Item, raw json.RawMessage) {
	tool := item.Tool
	tool.setInput(raw)
	var in struct {
		Command  string `json:"command"`
		FilePath string `json:"file_path"`
		Path     string `json:"path"`
		Dir      string `json:"dir_path"`
		Pattern  string `json:"pattern"`
		Query    string `json:"query"`
		Prompt   string `json:"prompt"`
	}
	_ = json.Unmarshal(raw, &in) // members of other types are ignored
	if file := firstOf(in.FilePath, in.Path); file != "" {
		tool.Locations = []Location{{Path: file}}
	}
	tool.Kind = "other"
	switch tool.Name {
	case "run_shell_command":
		tool.Kind, tool.Title = "execute", in.Command
	case "write_file", "replace", "edit":
		tool.Kind, tool.Title, item.Kind = "edit", tool.Name+" "+in.FilePath, KindFileChange
	case "read_file", "read_many_files", "list_directory":
		tool.Kind, tool.Title = "read", tool.Name+" "+firstOf(in.FilePath, in.Path, in.Dir)
	case "glob", "search_file_content", "grep_search":
		tool.Kind, tool.Title = "search", tool.Name+" "+in.Pattern
	case "web_fetch", "google_web_search":
		tool.Kind, tool.Title = "fetch", firstOf(in.Query, in.Prompt)
	}
	if tool.Title == "" {
		tool.Title = tool.Name
	}
}

// wholeOutput decodes one value that contains the answer, such as gemini prints with
// --output-format json.
type wholeOutput struct{}

func (*wholeOutput) turn() {}

func (*wholeOutput) clone() decoder { return &wholeOutput{} }

func (*wholeOutput) message(s *Session, line []byte) {
	var m struct {
		SessionID string       `json:"session_id"`
		Response  string       `json:"response"`
		Error     *geminiError `json:"error"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	s.conversation(m.SessionID)
	if strings.TrimSpace(m.Response) != "" {
		s.close(s.open(Item{Kind: KindMessage, Role: RoleAssistant, Text: m.Response}))
	}
	if m.Error != nil {
		s.failure.Final(m.Error.Message, m.Error.status(), m.Error.Type)
	}
}
