package transcript

// codex's items. exec --json and the app server use the same items in two spellings.

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"ac/internal/shellwords"
)

// codexItem is an item in either spelling. Its larger parts are undecoded.
type codexItem struct {
	ID, Type, Text, Cwd, Output, Status string
	Server, Tool, Prompt, Query, Path   string
	Message                             string
	Exit                                *int
	Summary, Content, Command           []byte
	Arguments, Result, Contents, Error  []byte
	Changes, Items                      []byte
}

// codexChange is a change of one file.
type codexChange struct {
	Path string          `json:"path"`
	Kind json.RawMessage `json:"kind"`
	Diff string          `json:"diff"`
}

// readCodexItem decodes an item of a scanned line. It treats members of another type as absent.
func readCodexItem(raw []byte) (i codexItem) {
	members(raw, func(name, value []byte) {
		if text := i.text(string(name)); text != nil {
			*text = textOf(value)
		} else if part := i.part(string(name)); part != nil {
			*part = value
		} else if (string(name) == "exitCode" || string(name) == "exit_code") && string(value) != "null" {
			if n, err := strconv.Atoi(string(value)); err == nil {
				i.Exit = &n
			}
		}
	})
	return i
}

func (i *codexItem) text(name string) *string {
	switch name {
	case "id":
		return &i.ID
	case "type":
		return &i.Type
	case "text":
		return &i.Text
	case "cwd":
		return &i.Cwd
	case "aggregatedOutput", "aggregated_output":
		return &i.Output
	case "status":
		return &i.Status
	case "server":
		return &i.Server
	case "tool":
		return &i.Tool
	case "prompt":
		return &i.Prompt
	case "query":
		return &i.Query
	case "path":
		return &i.Path
	case "message":
		return &i.Message
	}
	return nil
}

func (i *codexItem) part(name string) *[]byte {
	switch name {
	case "summary":
		return &i.Summary
	case "content":
		return &i.Content
	case "command":
		return &i.Command
	case "arguments":
		return &i.Arguments
	case "result":
		return &i.Result
	case "contentItems":
		return &i.Contents
	case "error":
		return &i.Error
	case "changes":
		return &i.Changes
	case "items":
		return &i.Items
	}
	return nil
}

// kind returns the type in the app server's spelling.
func (i *codexItem) kind() string {
	if !strings.Contains(i.Type, "_") {
		return i.Type
	}
	words := strings.Split(i.Type, "_")
	for n, word := range words {
		if n > 0 && word != "" {
			words[n] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

func (i *codexItem) command() string {
	var text string
	if json.Unmarshal(i.Command, &text) == nil {
		return text
	}
	var words []string
	_ = json.Unmarshal(i.Command, &words) // anything else is not a command
	return strings.Join(words, " ")
}

// codexItem handles an item's start, update or end.
func (s *Session) codexItem(i *codexItem, begins, done bool) {
	kind := i.kind()
	switch {
	case kind == "" || !begins && s.isClosed(i.ID):
	case kind == "userMessage":
		if done {
			s.echo(i.ID, resultText(i.Content))
		}
	case kind == "agentMessage":
		s.codexText(i, KindMessage, i.Text, done)
	case kind == "reasoning":
		text := firstOf(i.Text, paragraphs(i.Summary))
		if text == "" {
			text = paragraphs(i.Content)
		}
		s.codexText(i, KindReasoning, text, done)
	case kind == "plan":
		s.codexText(i, KindPlan, i.Text, done)
	case kind == "todoList":
		s.codexTodo(i, done)
	case codexNotice(kind) != "" || kind == "error":
		if done {
			s.noticeOf(i.ID, firstOf(codexNotice(kind), i.Message))
		}
	default:
		s.codexTool(i, done)
	}
}

// codexNotice returns the notice for an item that is not part of the conversation, "" for others.
func codexNotice(kind string) string {
	switch kind {
	case "contextCompaction":
		return "The context was compacted."
	case "enteredReviewMode":
		return "Review mode was entered."
	case "exitedReviewMode":
		return "Review mode was left."
	}
	return ""
}

// codexText handles a message, reasoning or a plan. The text arrives whole, or in pieces and then
// whole.
func (s *Session) codexText(i *codexItem, kind, text string, done bool) {
	item := s.find(i.ID)
	if item == nil {
		item = s.newest(func(open *Item) bool { return open.Kind == kind && open.own == "" }) // its pieces had no id
	}
	if item == nil {
		if item = s.open(Item{ID: i.ID, Kind: kind, Role: RoleAssistant, Text: text}); !done {
			return
		}
	} else if text != "" {
		s.replace(item, text)
	}
	if done {
		s.close(item)
		return
	}
	s.update(item)
}

func (s *Session) codexTodo(i *codexItem, done bool) {
	item := s.find(i.ID)
	if item == nil {
		item = s.open(Item{ID: i.ID, Kind: KindPlan, Role: RoleAssistant})
	}
	steps := []Step{}
	elements(i.Items, func(raw []byte) {
		step := Step{Status: ToolPending}
		members(raw, func(name, value []byte) {
			switch string(name) {
			case "text":
				step.Text = textOf(value)
			case "completed":
				if isTrue(value) {
					step.Status = ToolCompleted
				}
			}
		})
		steps = append(steps, step)
	})
	item.setPlan(steps)
	if done {
		s.close(item)
		return
	}
	s.update(item)
}

func (s *Session) codexTool(i *codexItem, done bool) {
	item := s.find(i.ID)
	fresh := item == nil
	if fresh {
		item = &Item{ID: i.ID, Kind: KindTool, Role: RoleAssistant, Tool: &Tool{Status: ToolInProgress}}
	}
	if item.Tool == nil {
		return // the id belongs to an earlier message
	}
	i.describe(item)
	switch i.Status {
	case ToolCompleted, ToolFailed, ToolDeclined:
		item.Tool.Status = i.Status
	default:
		item.Tool.Status = ToolInProgress
		if done {
			item.Tool.Status = ToolCompleted
		}
	}
	switch {
	case fresh:
		if item = s.open(*item); done {
			s.close(item)
		}
	case done:
		s.close(item)
	default:
		s.update(item)
	}
}

// describe fills in a tool's name, kind, title, input and output.
func (i *codexItem) describe(item *Item) {
	tool := item.Tool
	kind := i.kind()
	tool.Name, tool.Kind, tool.Title = kind, "other", kind
	switch kind {
	case "commandExecution":
		i.describeCommand(tool)
	case "fileChange":
		item.Kind = KindFileChange
		i.describeChanges(tool)
	case "mcpToolCall":
		tool.Name, tool.Kind, tool.Title, tool.Server = i.Tool, "mcp", i.Server+"/"+i.Tool, i.Server
	case "dynamicToolCall", "collabAgentToolCall":
		tool.Name = firstOf(i.Tool, kind)
		tool.Title = strings.TrimSpace(tool.Name + " " + firstLine(i.Prompt))
	case "webSearch":
		tool.Name, tool.Kind, tool.Title = "web_search", "search", i.Query
	case "imageView":
		tool.Kind, tool.Title = "read", firstOf(i.Path, kind)
		if i.Path != "" {
			tool.Locations = []Location{{Path: i.Path}}
		}
	}
	if i.Arguments != nil {
		tool.setInput(bytes.Clone(i.Arguments))
	}
	for _, raw := range [][]byte{i.Result, i.Contents, i.Error} {
		if text := resultText(raw); text != "" && kind != "commandExecution" {
			tool.setOutput(text)
			break
		}
	}
}

func (i *codexItem) describeCommand(tool *Tool) {
	command := i.command()
	tool.Name, tool.Kind, tool.Title = "shell", "execute", shellwords.Unwrap(command)
	tool.setInput(rawJSON(struct {
		Command string `json:"command"`
		Cwd     string `json:"cwd,omitempty"`
	}{command, i.Cwd}))
	if i.Output != "" {
		tool.setOutput(i.Output)
	}
	tool.ExitCode = i.Exit
}

func (i *codexItem) describeChanges(tool *Tool) {
	tool.Name, tool.Kind, tool.Locations = "apply_patch", "edit", nil
	var changes []codexChange
	_ = json.Unmarshal(i.Changes, &changes) // any other value has no changes
	changes = changes[:min(len(changes), maxFiles)]
	paths := make([]string, 0, len(changes))
	var diff strings.Builder
	for _, change := range changes {
		tool.Locations = append(tool.Locations, Location{Path: change.Path})
		paths = append(paths, change.Path)
		if diff.Len() <= maxDiff {
			diff.WriteString(change.unified())
		}
	}
	tool.Title = strings.Join(paths, " ")
	if diff.Len() > 0 {
		tool.setDiff(diff.String())
	}
}

// unified returns the change as a unified diff. codex sends the content of an added or deleted
// file, and the hunks of any other.
func (c *codexChange) unified() string {
	var kind struct {
		Type string `json:"type"`
		To   string `json:"move_path"`
	}
	if json.Unmarshal(c.Kind, &kind) != nil {
		_ = json.Unmarshal(c.Kind, &kind.Type) // exec uses a string
	}
	switch {
	case c.Diff == "":
		return ""
	case strings.HasPrefix(c.Diff, "diff ") || strings.HasPrefix(c.Diff, "--- "):
		return endLine(c.Diff)
	case kind.Type == "add":
		return unifiedDiff(c.Path, "", c.Diff)
	case kind.Type == "delete":
		return unifiedDiff(c.Path, c.Diff, "")
	}
	return diffHead(c.Path, firstOf(kind.To, c.Path)) + endLine(c.Diff)
}

// rawJSON encodes a value that always encodes.
func rawJSON(v any) json.RawMessage {
	text, _ := json.Marshal(v)
	return text
}

// paragraphs joins the texts of a list with blank lines.
func paragraphs(raw []byte) string {
	var texts []string
	if json.Unmarshal(raw, &texts) == nil {
		return strings.Join(texts, "\n\n")
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // any other content has no text
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}

// resultText returns the text of a tool's result: the texts of its content, or else the raw
// value.
func resultText(raw []byte) string {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case raw[0] == '"':
		return textOf(raw)
	}
	content, message := raw, ""
	if raw[0] == '{' {
		content = nil
		members(raw, func(name, value []byte) {
			switch string(name) {
			case "content":
				content = value
			case "message":
				message = textOf(value)
			}
		})
	}
	var b strings.Builder
	if !elements(content, func(part []byte) {
		members(part, func(name, value []byte) {
			if string(name) == "text" {
				b.WriteString(textOf(value))
			}
		})
	}) {
		return firstOf(message, string(raw))
	}
	return b.String()
}
