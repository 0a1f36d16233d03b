package transcript

// Tool calls of ACP agents. Each message holds what changed since the one before.

import (
	"encoding/json"
	"strings"
)

// acpCall is a complete tool call, or an update of one.
type acpCall struct {
	ID        string `json:"toolCallId"`
	Title     string `json:"title"`
	ToolKind  string `json:"kind"`
	Status    string `json:"status"`
	Locations []struct {
		Path string `json:"path"`
		Line *int   `json:"line"`
	} `json:"locations"`
	Input  json.RawMessage `json:"rawInput"`
	Output json.RawMessage `json:"rawOutput"`
}

// acpContent is one piece of a tool's displayed content.
type acpContent struct {
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Path    string          `json:"path"`
	Old     *string         `json:"oldText"`
	New     string          `json:"newText"`
}

// call opens or updates a tool's item. After a tool is over, only a new call, or a permission
// request for one, opens another item. A permission request does not change the status of a known
// tool.
func (a *acp) call(s *Session, c *acpCall, content json.RawMessage, from string) {
	if c.ID == "" || from == "tool_call_update" && s.isClosed(c.ID) {
		return
	}
	item := s.find(c.ID)
	fresh := item == nil
	if fresh {
		item = &Item{ID: c.ID, Kind: KindTool, Role: RoleAssistant, Tool: &Tool{Name: "other", Kind: "other", Status: ToolPending}}
	}
	if item.Tool == nil {
		return // the id belongs to an earlier message
	}
	c.describe(item, fresh || from != acpAsks)
	c.show(item.Tool, content)
	switch over := item.Tool.Status == ToolCompleted || item.Tool.Status == ToolFailed; {
	case fresh:
		if item = s.open(*item); over {
			s.close(item)
		}
	case over:
		s.close(item)
	default:
		s.update(item)
	}
}

// describe copies a message's fields into the tool.
func (c *acpCall) describe(item *Item, status bool) {
	tool := item.Tool
	if c.ToolKind != "" {
		tool.Name, tool.Kind = c.ToolKind, acpKind(c.ToolKind)
		item.Kind = KindTool
		if tool.Kind == "edit" || tool.Kind == "delete" || tool.Kind == "move" {
			item.Kind = KindFileChange
		}
	}
	tool.Title = firstOf(c.Title, tool.Title, tool.Name)
	if status && c.Status != "" {
		tool.Status = acpStatus(c.Status)
	}
	if len(c.Locations) > 0 {
		tool.Locations = nil
		for _, l := range c.Locations[:min(len(c.Locations), maxFiles)] {
			tool.Locations = append(tool.Locations, Location{l.Path, l.Line})
		}
	}
	tool.setInput(c.Input)
}

func acpKind(kind string) string {
	switch kind {
	case "read", "edit", "delete", "move", "search", "execute", "think", "fetch":
		return kind
	}
	return "other"
}

func acpStatus(status string) string {
	switch status {
	case ToolPending, ToolCompleted, ToolFailed:
		return status
	}
	return ToolInProgress
}

// show copies the displayed content: texts become the output, text pairs become the diff. A tool
// without displayed content shows its raw output.
func (c *acpCall) show(tool *Tool, content json.RawMessage) {
	var pieces []acpContent
	given := json.Unmarshal(content, &pieces) == nil && pieces != nil
	var text, diff strings.Builder
	for _, p := range pieces {
		switch {
		case p.Type == "content":
			text.WriteString(acpText(p.Content))
		case p.Type == "diff" && diff.Len() <= maxDiff:
			old := ""
			if p.Old != nil {
				old = *p.Old
			}
			diff.WriteString(unifiedDiff(p.Path, old, p.New))
		}
	}
	if diff.Len() > 0 {
		tool.setDiff(diff.String())
	}
	switch {
	case text.Len() > 0:
		tool.setOutput(text.String())
	case len(c.Output) > 0 && string(c.Output) != "null":
		tool.setOutput(acpOutput(c.Output))
	case given:
		tool.setOutput("")
	}
	var raw struct {
		Metadata struct {
			Exit *int `json:"exit"`
		} `json:"metadata"`
	}
	if json.Unmarshal(c.Output, &raw) == nil && raw.Metadata.Exit != nil {
		tool.ExitCode = raw.Metadata.Exit
	}
}

// acpOutput returns the text of a raw output, or its JSON if it has none.
func acpOutput(raw json.RawMessage) string {
	var value struct {
		Output *string `json:"output"`
	}
	if json.Unmarshal(raw, &value) == nil && value.Output != nil {
		return *value.Output
	}
	return resultText(raw)
}
