package transcript

// codex: exec --json and the app server. Both tell the same items in two
// spellings.

import (
	"encoding/json"
	"strings"

	"ac/internal/canonjson"
)

// codexItem is an item of either spelling.
type codexItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Summary   []string        `json:"summary"`
	Content   json.RawMessage `json:"content"`
	Command   json.RawMessage `json:"command"`
	Cwd       string          `json:"cwd"`
	Output    string          `json:"aggregatedOutput"`
	OutputOld string          `json:"aggregated_output"`
	Exit      *int            `json:"exitCode"`
	ExitOld   *int            `json:"exit_code"`
	Status    string          `json:"status"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Query     string          `json:"query"`
	Message   string          `json:"message"`
	Changes   []struct {
		Path string          `json:"path"`
		Kind json.RawMessage `json:"kind"`
		Diff string          `json:"diff"`
	} `json:"changes"`
	Items []struct {
		Text      string `json:"text"`
		Completed bool   `json:"completed"`
	} `json:"items"`
}

// kind is the type in the app server's spelling.
func (i codexItem) kind() string {
	words := strings.Split(i.Type, "_")
	for n, word := range words {
		if n > 0 && word != "" {
			words[n] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, "")
}

func (i codexItem) command() string {
	var text string
	if json.Unmarshal(i.Command, &text) == nil {
		return text
	}
	var words []string
	_ = json.Unmarshal(i.Command, &words) // anything else is no command
	return strings.Join(words, " ")
}

func codexStatus(status string) string {
	switch status {
	case "completed", "failed", "declined":
		return status
	}
	return ToolInProgress
}

// item takes an item at its beginning, at a change or at its end.
func (s *Session) codexItem(i codexItem, done bool) {
	switch i.kind() {
	case "userMessage":
		return // what people said has an event of its own
	case "agentMessage":
		s.codexText(i, KindMessage, i.Text, done)
	case "reasoning":
		text := i.Text
		if text == "" {
			text = strings.Join(i.Summary, "\n\n")
		}
		if text == "" {
			var parts []string
			_ = json.Unmarshal(i.Content, &parts)
			text = strings.Join(parts, "\n\n")
		}
		s.codexText(i, KindReasoning, text, done)
	case "plan":
		s.codexText(i, KindPlan, i.Text, done)
	case "error":
		if done {
			s.notice(i.Message)
		}
	case "contextCompaction":
		s.notice("The context was compacted.")
	case "enteredReviewMode":
		s.notice("Review mode was entered.")
	case "exitedReviewMode":
		s.notice("Review mode was left.")
	case "todoList":
		s.codexTodo(i, done)
	default:
		s.codexTool(i, done)
	}
}

// codexText takes a message, reasoning or a plan: text that comes whole, or in
// pieces and then whole.
func (s *Session) codexText(i codexItem, kind, text string, done bool) {
	item := s.find(i.ID)
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

func (s *Session) codexTodo(i codexItem, done bool) {
	item := s.find(i.ID)
	if item == nil {
		item = s.open(Item{ID: i.ID, Kind: KindPlan, Role: RoleAssistant})
	}
	item.Plan = nil
	for _, step := range i.Items {
		status := ToolPending
		if step.Completed {
			status = ToolCompleted
		}
		item.Plan = append(item.Plan, Step{step.Text, status})
	}
	if done {
		s.close(item)
		return
	}
	s.update(item)
}

func (s *Session) codexTool(i codexItem, done bool) {
	item := s.find(i.ID)
	if item == nil {
		item = s.open(Item{ID: i.ID, Kind: KindTool, Role: RoleAssistant, Tool: &Tool{Status: ToolInProgress}})
	}
	tool := item.Tool
	if tool == nil {
		return // an id that was a message before
	}
	tool.Name, tool.Kind, tool.Title = i.kind(), "other", i.kind()
	tool.Status = codexStatus(i.Status)
	switch i.kind() {
	case "commandExecution":
		tool.Name, tool.Kind, tool.Title = "shell", "execute", unwrapped(i.command())
		tool.setInput(rawJSON(struct {
			Command string `json:"command"`
			Cwd     string `json:"cwd,omitempty"`
		}{i.command(), i.Cwd}))
		if out := i.Output + i.OutputOld; out != "" {
			tool.setOutput(out)
		}
		tool.ExitCode = i.Exit
		if i.ExitOld != nil {
			tool.ExitCode = i.ExitOld
		}
	case "fileChange":
		item.Kind = KindFileChange
		tool.Name, tool.Kind, tool.Title = "apply_patch", "edit", ""
		tool.Locations = nil
		var diff strings.Builder
		for _, change := range i.Changes {
			tool.Locations = append(tool.Locations, Location{Path: change.Path})
			diff.WriteString(change.Diff)
			tool.Title = strings.TrimSpace(tool.Title + " " + change.Path)
		}
		if diff.Len() > 0 {
			tool.Diff, _ = head(diff.String(), maxDiff)
		}
	case "mcpToolCall":
		tool.Name, tool.Kind, tool.Title, tool.Server = i.Tool, "mcp", i.Server+"/"+i.Tool, i.Server
		tool.setInput(i.Arguments)
		if len(i.Result) > 0 && string(i.Result) != "null" {
			tool.setOutput(resultText(i.Result))
		}
	case "webSearch":
		tool.Name, tool.Kind, tool.Title = "web_search", "search", i.Query
	case "imageView":
		tool.Kind = "read"
	}
	if done {
		if tool.Status == ToolInProgress {
			tool.Status = ToolCompleted
		}
		s.close(item)
		return
	}
	s.update(item)
}

// rawJSON is the JSON of a value that always encodes.
func rawJSON(v any) json.RawMessage {
	text, _ := json.Marshal(v)
	return text
}

// resultText is what the result of a tool says: the texts of its content, else
// the value itself.
func resultText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	var outer struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		if json.Unmarshal(raw, &outer) != nil || json.Unmarshal(outer.Content, &parts) != nil {
			return string(raw)
		}
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// codexExec is codex exec --json.
type codexExec struct{}

func (*codexExec) message(s *Session, line []byte) {
	if s.brief && ofTool(line) {
		return
	}
	var m struct {
		Type     string      `json:"type"`
		ThreadID string      `json:"thread_id"`
		Item     codexItem   `json:"item"`
		Message  string      `json:"message"`
		Error    *codexError `json:"error"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	switch m.Type {
	case "thread.started":
		s.conversation(m.ThreadID)
	case "item.started", "item.updated":
		s.codexItem(m.Item, false)
	case "item.completed":
		s.codexItem(m.Item, true)
	case "error":
		s.failure.told(m.Message, 0, "")
	case "turn.failed":
		if m.Error != nil {
			s.failure.final(m.Error.Message, m.Error.status(), m.Error.code())
		}
	case "turn.completed":
		s.failure.recovered()
	}
}

// ofTool reports whether an event of codex exec is of a command, a patch, or another
// tool. It reads the types alone: most of what codex prints is output of commands.
func ofTool(line []byte) (tool bool) {
	_ = canonjson.Members(line, func(m canonjson.Member) { // what is no object is of none
		if string(m.Key) != "item" {
			return
		}
		_ = canonjson.Members(m.Value, func(m canonjson.Member) {
			if string(m.Key) == "type" {
				switch string(m.Value) {
				case `"command_execution"`, `"file_change"`, `"mcp_tool_call"`, `"web_search"`:
					tool = true
				}
			}
		})
	})
	return tool
}

// codexError is an error in the words of codex.
type codexError struct {
	Message    string          `json:"message"`
	Additional string          `json:"additionalDetails"`
	Info       json.RawMessage `json:"codexErrorInfo"`
}

// status is the HTTP status that the error came with, 0 for none.
func (e *codexError) status() int {
	var info map[string]struct {
		HTTPStatusCode int `json:"httpStatusCode"`
	}
	if json.Unmarshal(e.Info, &info) == nil {
		for _, inner := range info {
			if inner.HTTPStatusCode != 0 {
				return inner.HTTPStatusCode
			}
		}
	}
	return 0
}

// code is the error's own word, "" for none.
func (e *codexError) code() (word string) {
	_ = json.Unmarshal(e.Info, &word) // objects have none
	return word
}

// appServer is codex app-server.
type appServer struct{}

func (*appServer) message(s *Session, line []byte) {
	var m struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
		Result struct {
			Thread struct {
				ID string `json:"id"`
			} `json:"thread"`
		} `json:"result"`
	}
	if json.Unmarshal(line, &m) != nil {
		return
	}
	if m.Method == "" {
		s.conversation(m.Result.Thread.ID)
		return
	}
	var p struct {
		Item      codexItem   `json:"item"`
		ThreadID  string      `json:"threadId"`
		ItemID    string      `json:"itemId"`
		Delta     string      `json:"delta"`
		TurnID    string      `json:"turnId"`
		Diff      string      `json:"diff"`
		Message   string      `json:"message"`
		Summary   string      `json:"summary"`
		WillRetry bool        `json:"willRetry"`
		Error     *codexError `json:"error"`
		Turn      struct {
			Status string      `json:"status"`
			Error  *codexError `json:"error"`
		} `json:"turn"`
		Plan []struct {
			Step   string `json:"step"`
			Status string `json:"status"`
		} `json:"plan"`
	}
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	if s.parent = ""; p.ThreadID != "" && s.facts.Conversation != "" && p.ThreadID != s.facts.Conversation {
		s.parent = p.ThreadID // of an agent that ours lets work
		if m.Method == "turn/completed" || m.Method == "error" {
			return
		}
	}
	switch m.Method {
	case "item/started":
		s.codexItem(p.Item, false)
	case "item/completed":
		s.codexItem(p.Item, true)
	case "item/agentMessage/delta":
		s.codexDelta(p.ItemID, KindMessage, p.Delta)
	case "item/plan/delta":
		s.codexDelta(p.ItemID, KindPlan, p.Delta)
	case "item/reasoning/textDelta", "item/reasoning/summaryTextDelta":
		s.codexDelta(p.ItemID, KindReasoning, p.Delta)
	case "item/reasoning/summaryPartAdded":
		if item := s.find(p.ItemID); item != nil && item.Text != "" {
			s.append(item, "\n\n")
		}
	case "item/commandExecution/outputDelta", "item/fileChange/outputDelta":
		if item := s.find(p.ItemID); item != nil {
			s.appendOutput(item, p.Delta)
		}
	case "turn/plan/updated":
		s.codexPlan(p.TurnID, len(p.Plan), func(i int) (string, string) { return p.Plan[i].Step, p.Plan[i].Status })
	case "turn/completed":
		s.closePlans()
		switch {
		case p.Turn.Error != nil && p.Turn.Error.Message != "":
			s.failure.final(p.Turn.Error.Message, p.Turn.Error.status(), p.Turn.Error.code())
		case p.Turn.Status == "completed":
			s.failure.recovered()
		}
	case "error":
		if p.Error != nil {
			s.notice(p.Error.Message)
			text := p.Error.Message
			if p.WillRetry && p.Error.Additional != "" {
				text = p.Error.Additional
			}
			s.failure.told(text, p.Error.status(), p.Error.code())
		}
	case "warning", "guardianWarning", "model/rerouted":
		s.notice(p.Message + p.Summary)
	}
}

func (s *Session) codexDelta(id, kind, delta string) {
	item := s.find(id)
	if item == nil {
		item = s.open(Item{ID: id, Kind: kind, Role: RoleAssistant})
	}
	s.append(item, delta)
}

func (s *Session) codexPlan(turn string, n int, step func(int) (text, status string)) {
	id := "turn-" + turn + "-plan"
	item := s.find(id)
	if item == nil {
		item = s.open(Item{ID: id, Kind: KindPlan, Role: RoleAssistant})
	}
	item.Plan = nil
	for i := range n {
		text, status := step(i)
		if status == "inProgress" {
			status = ToolInProgress
		}
		item.Plan = append(item.Plan, Step{text, status})
	}
	s.update(item)
}

// closePlans closes the plans of a turn that is over.
func (s *Session) closePlans() {
	for i := 0; i < len(s.items); {
		if s.items[i].Kind == KindPlan {
			s.close(s.items[i])
			continue
		}
		i++
	}
}
