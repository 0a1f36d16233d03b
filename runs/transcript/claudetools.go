package transcript

// claude's tools: their kinds, titles and inputs.

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
)

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

// mcpName splits the name of an MCP server's tool.
func mcpName(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok
}

// claudeInput is the part of the tools' inputs that is shown.
type claudeInput struct {
	Command     string `json:"command"`
	FilePath    string `json:"file_path"`
	Notebook    string `json:"notebook_path"`
	Path        string `json:"path"`
	Pattern     string `json:"pattern"`
	URL         string `json:"url"`
	Query       string `json:"query"`
	Description string `json:"description"`
	Content     string `json:"content"`
	Old         string `json:"old_string"`
	New         string `json:"new_string"`
	Edits       []struct {
		Old string `json:"old_string"`
		New string `json:"new_string"`
	} `json:"edits"`
}

// claudeCall fills in what a tool was called with.
func claudeCall(item *Item, input []byte) {
	tool := item.Tool
	tool.setInput(bytes.Clone(input))
	tool.Status = ToolInProgress
	var in claudeInput
	_ = json.Unmarshal(input, &in) // members of other types are ignored
	file := firstOf(in.FilePath, in.Notebook, in.Path)
	if file != "" {
		tool.Locations = []Location{{Path: file}}
	}
	switch tool.Kind {
	case "execute":
		tool.Title = firstOf(in.Command, tool.Name)
	case "read":
		tool.Title = strings.TrimSpace(tool.Name + " " + file)
	case "edit":
		tool.Title = strings.TrimSpace(tool.Name + " " + file)
		if diff := in.diff(file); diff != "" {
			tool.setDiff(diff)
		}
	case "search":
		tool.Title = strings.TrimSpace(tool.Name + " " + firstOf(in.Pattern, in.Query))
	case "fetch":
		tool.Title = firstOf(in.URL, in.Query, tool.Name)
	default:
		tool.Title = strings.TrimSpace(tool.Name + " " + in.Description)
	}
	if server, name, ok := mcpName(tool.Name); ok {
		tool.Server, tool.Title = server, server+"/"+name
	}
}

// diff returns the change that a tool is asked to make, as far as its input shows it.
func (in *claudeInput) diff(file string) string {
	if in.Content != "" {
		return unifiedDiff(file, "", in.Content)
	}
	if in.Old != "" || in.New != "" {
		return unifiedDiff(file, in.Old, in.New)
	}
	var b strings.Builder
	for _, e := range in.Edits {
		if b.Len() <= maxDiff {
			b.WriteString(unifiedDiff(file, e.Old, e.New))
		}
	}
	return b.String()
}

// claudePatch returns the change that a tool made, from its hunks.
func claudePatch(item *Item, raw []byte) string {
	var hunks []json.RawMessage
	if json.Unmarshal(raw, &hunks) != nil || len(hunks) == 0 || len(item.Tool.Locations) == 0 {
		return ""
	}
	var b strings.Builder
	path := item.Tool.Locations[0].Path
	b.WriteString(diffHead(path, path))
	for _, raw := range hunks {
		var h struct {
			OldStart int      `json:"oldStart"`
			OldLines int      `json:"oldLines"`
			NewStart int      `json:"newStart"`
			NewLines int      `json:"newLines"`
			Lines    []string `json:"lines"`
		}
		if json.Unmarshal(raw, &h) != nil {
			return ""
		}
		b.WriteString("@@ -" + hunkSpan(h.OldStart, h.OldLines) + " +" + hunkSpan(h.NewStart, h.NewLines) + " @@\n")
		for _, line := range h.Lines {
			if b.Len() > maxDiff {
				return b.String()
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// cloneMap returns a copy that is never nil.
func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	c := maps.Clone(m)
	if c == nil {
		c = map[K]V{}
	}
	return c
}
