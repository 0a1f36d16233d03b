package transcript

// codex exec --json.

import (
	"encoding/json"

	"ac/internal/canonjson"
)

// codexExec is codex exec --json.
type codexExec struct{}

func (*codexExec) turn() {}

func (*codexExec) clone() decoder { return &codexExec{} }

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
	case "item.started":
		s.codexItem(&m.Item, true, false)
	case "item.updated":
		s.codexItem(&m.Item, false, false)
	case "item.completed":
		s.codexItem(&m.Item, false, true)
	case "error":
		s.failure.report(m.Message, 0, "")
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
