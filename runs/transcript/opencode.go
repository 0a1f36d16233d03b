package transcript

// The decoder of opencode: run --format json.

import (
	"encoding/json"
	"strings"
)

// openCode decodes the events of opencode run.
type openCode struct{}

func (*openCode) turn() {}

func (*openCode) clone() decoder { return &openCode{} }

func (*openCode) message(s *Session, line []byte) {
	var m struct {
		Type      string `json:"type"`
		SessionID string `json:"sessionID"`
		Part      struct {
			ID     string `json:"id"`
			Type   string `json:"type"`
			Text   string `json:"text"`
			Tool   string `json:"tool"`
			CallID string `json:"callID"`
			State  struct {
				Status   string          `json:"status"`
				Input    json.RawMessage `json:"input"`
				Output   string          `json:"output"`
				Title    string          `json:"title"`
				Error    string          `json:"error"`
				Metadata struct {
					Exit *int `json:"exit"`
				} `json:"metadata"`
			} `json:"state"`
		} `json:"part"`
		Error struct {
			Name string `json:"name"`
			Data struct {
				Message    string            `json:"message"`
				StatusCode int               `json:"statusCode"`
				Headers    map[string]string `json:"responseHeaders"`
			} `json:"data"`
		} `json:"error"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	s.conversation(m.SessionID)
	p := &m.Part
	switch m.Type {
	case "text":
		if s.isClosed(p.ID) {
			return
		}
		s.close(s.open(Item{ID: p.ID, Kind: KindMessage, Role: RoleAssistant, Text: p.Text}))
	case "reasoning":
		if s.isClosed(p.ID) {
			return
		}
		s.close(s.open(Item{ID: p.ID, Kind: KindReasoning, Role: RoleAssistant, Text: p.Text}))
	case "tool_use":
		item := &Item{ID: firstOf(p.ID, p.CallID), Kind: KindTool, Role: RoleAssistant, Tool: &Tool{Name: p.Tool, Title: p.State.Title, Status: ToolCompleted}}
		openCodeCall(item, p.State.Input)
		item.Tool.ExitCode = p.State.Metadata.Exit
		text := p.State.Output
		if p.State.Status == "error" {
			item.Tool.Status, text = ToolFailed, p.State.Error
		}
		item.Tool.setOutput(text)
		s.close(s.open(*item))
	case "error":
		d := &m.Error.Data
		s.failure.Final(firstOf(d.Message, m.Error.Name), d.StatusCode, m.Error.Name)
		s.failure.After(d.Headers["retry-after"])
		s.notice(firstOf(d.Message, m.Error.Name))
	case "step_finish":
		s.failure.Recovered()
	}
}

func openCodeCall(item *Item, raw json.RawMessage) {
	tool := item.Tool
	tool.setInput(raw)
	var in struct {
		Command  string `json:"command"`
		FilePath string `json:"filePath"`
		Path     string `json:"path"`
	}
	_ = json.Unmarshal(raw, &in) // members of other types are ignored
	if file := firstOf(in.FilePath, in.Path); file != "" {
		tool.Locations = []Location{{Path: file}}
	}
	tool.Kind = "other"
	switch tool.Name {
	case "bash":
		tool.Kind, tool.Title = "execute", in.Command
	case "write", "edit", "patch", "multiedit":
		tool.Kind, item.Kind = "edit", KindFileChange
	case "read", "list":
		tool.Kind = "read"
	case "glob", "grep", "codesearch", "websearch":
		tool.Kind = "search"
	case "webfetch":
		tool.Kind = "fetch"
	case "task":
		tool.Kind = "think"
	}
	if strings.TrimSpace(tool.Title) == "" {
		tool.Title = tool.Name
	}
}
