package frames

// Agents' tools, with the names and formats of the protocol.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"ac/runs/transcript"
	"ac/workspace/doc"
)

const (
	maxPreview = 200 // characters
	maxOutput  = 8 << 10
	tailLines  = 8
	lineChars  = 400
)

// toolName returns the protocol's name for what a tool does, else the agent's own name.
func toolName(t *transcript.Tool) string {
	switch t.Name {
	case "Task", "Agent", "collabAgentToolCall":
		return "spawn_subagent"
	case "AskUserQuestion", "TodoWrite":
		return t.Name
	}
	switch t.Kind {
	case "execute":
		return "bash"
	case "edit":
		if t.Name == "Write" || strings.HasPrefix(t.Diff, "--- /dev/null\n") {
			return "file_write"
		}
		return "file_edit"
	case "delete", "move":
		return "file_edit"
	case "read":
		return "file_read"
	case "search":
		return "grep"
	case "fetch":
		return "web_fetch"
	}
	return cmp.Or(t.Name, t.Title, "tool")
}

// operationTool returns the name of a tool of which only the required operation is known.
func operationTool(operation doc.Operation, own string) string {
	switch operation {
	case doc.OpMCPTool:
	case doc.OpExec:
		return "bash"
	case doc.OpWrite:
		return "file_edit"
	case doc.OpRead:
		return "file_read"
	case doc.OpNetwork:
		return "web_fetch"
	}
	return cmp.Or(own, "tool")
}

// argsOf returns the arguments of a tool: its input, completed from other members of the item.
func argsOf(t *transcript.Tool) json.RawMessage {
	input := t.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	var known map[string]json.RawMessage // members of the input of any tool
	if json.Unmarshal(input, &known) != nil || known == nil {
		return input
	}
	add := func(name, value string) {
		if _, has := known[name]; has || value == "" {
			return
		}
		if text, err := json.Marshal(value); err == nil {
			known[name] = text
		}
	}
	switch t.Kind {
	case "execute":
		add("command", t.Title)
	case "search":
		add("pattern", strings.TrimPrefix(t.Title, t.Name+" "))
	case "read", "edit", "delete", "move":
		if len(t.Locations) > 0 {
			add("file_path", t.Locations[0].Path)
		}
	}
	text, err := json.Marshal(known)
	if err != nil {
		return input
	}
	return text
}

// argsText returns a preview of arguments: JSON unchanged, anything else as a JSON string.
func argsText(preview string) json.RawMessage {
	if preview == "" {
		return json.RawMessage("{}")
	}
	if json.Valid([]byte(preview)) {
		return json.RawMessage(preview)
	}
	text, err := json.Marshal(preview)
	if err != nil {
		return json.RawMessage("{}")
	}
	return text
}

// previewOf returns a tool in one line: its command, the path it works on, or its title.
func previewOf(t *transcript.Tool) string {
	var input struct {
		Command  json.RawMessage `json:"command"`
		FilePath string          `json:"file_path"`
	}
	_ = json.Unmarshal(t.Input, &input) // other tools have neither
	var command string
	if json.Unmarshal(input.Command, &command) != nil {
		var words []string
		if json.Unmarshal(input.Command, &words) == nil {
			command = strings.Join(words, " ")
		}
	}
	path := input.FilePath
	if path == "" && len(t.Locations) > 0 && t.Kind != "execute" {
		path = t.Locations[0].Path
	}
	return OneLine(cmp.Or(command, path, t.Title, t.Name), maxPreview)
}

// lastLines returns the last complete lines of an output, and the incomplete line after them.
func lastLines(output string) (lines []string, partial string) {
	all := strings.Split(output, "\n")
	partial = firstRunes(all[len(all)-1], lineChars)
	all = all[:len(all)-1]
	all = all[max(0, len(all)-tailLines):]
	lines = make([]string, 0, len(all))
	for _, line := range all {
		lines = append(lines, firstRunes(line, lineChars))
	}
	return lines, partial
}

// summaryOf describes in a few words what a tool did.
func summaryOf(t *transcript.Tool, hunks []hunk) toolSummary {
	s := toolSummary{Icon: "tool", Verb: "Used", Object: previewOf(t), Metrics: []metric{}}
	switch toolName(t) {
	case "bash":
		s.Icon, s.Verb = "terminal", "Ran"
	case "file_edit":
		s.Icon, s.Verb = "edit", "Edited"
	case "file_write":
		s.Icon, s.Verb = "edit", "Wrote"
	case "file_read":
		s.Icon, s.Verb = "file", "Read"
	case "grep":
		s.Icon, s.Verb = "search", "Searched"
	case "web_fetch":
		s.Icon, s.Verb = "web", "Fetched"
	case "spawn_subagent":
		s.Icon, s.Verb = "agent", "Delegated"
	}
	if t.ExitCode != nil {
		s.Metrics = append(s.Metrics, metric{"exit", strconv.Itoa(*t.ExitCode)})
	}
	added, removed := 0, 0
	for _, h := range hunks {
		for _, l := range h.Lines {
			switch l.Kind {
			case lineAdded:
				added++
			case lineRemoved:
				removed++
			}
		}
	}
	if added+removed > 0 {
		s.Metrics = append(s.Metrics, metric{"+", strconv.Itoa(added)}, metric{"-", strconv.Itoa(removed)})
	}
	return s
}

// Kinds of lines of a hunk.
const (
	lineContext = "context"
	lineAdded   = "added"
	lineRemoved = "removed"
)

// hunk is a part of a diff.
type hunk struct {
	OldStart int        `json:"old_start"`
	OldCount int        `json:"old_count"`
	NewStart int        `json:"new_start"`
	NewCount int        `json:"new_count"`
	Lines    []hunkLine `json:"lines"`
}

type hunkLine struct {
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	OldNo int    `json:"old_line_no,omitempty"`
	NewNo int    `json:"new_line_no,omitempty"`
}

// hunksOf parses the hunks of a unified diff.
func hunksOf(diff string) []hunk {
	list := []hunk{}
	var at hunk // position and remaining lines of the current hunk
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if h, ok := hunkHeader(line); ok {
			list, at = append(list, h), h
			continue
		}
		if at.OldCount <= 0 && at.NewCount <= 0 || line == "" {
			continue
		}
		lines := &list[len(list)-1].Lines
		switch line[0] {
		case ' ':
			*lines = append(*lines, hunkLine{lineContext, line[1:], at.OldStart, at.NewStart})
			at.OldStart, at.OldCount, at.NewStart, at.NewCount = at.OldStart+1, at.OldCount-1, at.NewStart+1, at.NewCount-1
		case '+':
			*lines = append(*lines, hunkLine{lineAdded, line[1:], 0, at.NewStart})
			at.NewStart, at.NewCount = at.NewStart+1, at.NewCount-1
		case '-':
			*lines = append(*lines, hunkLine{lineRemoved, line[1:], at.OldStart, 0})
			at.OldStart, at.OldCount = at.OldStart+1, at.OldCount-1
		}
	}
	return list
}

// hunkHeader parses a line like "@@ -1,2 +3,4 @@".
func hunkHeader(line string) (h hunk, ok bool) {
	words := strings.Fields(line)
	if len(words) < 4 || words[0] != "@@" || words[3] != "@@" || words[1][0] != '-' || words[2][0] != '+' {
		return h, false
	}
	number := func(word string) (start, count int, ok bool) {
		first, rest, counted := strings.Cut(word[1:], ",")
		start, err := strconv.Atoi(first)
		if count = 1; counted && err == nil {
			count, err = strconv.Atoi(rest)
		}
		return start, count, err == nil && start >= 0 && count >= 0
	}
	var before, after bool
	h.OldStart, h.OldCount, before = number(words[1])
	h.NewStart, h.NewCount, after = number(words[2])
	h.Lines = []hunkLine{}
	return h, before && after
}

// todosOf returns the steps of a plan as todos, with their counts.
func todosOf(steps []transcript.Step) ([]Todo, TodoSummary) {
	list, sum := make([]Todo, 0, len(steps)), TodoSummary{Total: len(steps)}
	for i, s := range steps {
		status := s.Status
		if !slices.Contains([]string{"pending", "in_progress", "completed", "cancelled"}, status) {
			status = "pending"
		}
		switch status {
		case "pending":
			sum.Pending++
		case "in_progress":
			sum.InProgress++
		case "completed":
			sum.Completed++
		case "cancelled":
			sum.Cancelled++
		}
		list = append(list, Todo{strconv.Itoa(i + 1), s.Text, status})
	}
	return list, sum
}

// arrayOf returns a client's array unchanged, nil for any other value.
func arrayOf(value json.RawMessage) json.RawMessage {
	if text := bytes.TrimSpace(value); len(text) > 2 && text[0] == '[' {
		return text
	}
	return nil
}
