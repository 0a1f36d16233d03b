package transcript

// The decoder of codex exec --json.

import (
	"encoding/json"

	"ac/internal/canonjson"
)

// codexExec decodes codex exec --json.
type codexExec struct{}

func (*codexExec) turn() {}

func (*codexExec) clone() decoder { return &codexExec{} }

func (*codexExec) message(s *Session, line []byte) {
	if s.brief && ofTool(line) {
		return
	}
	var m struct {
		kind, threadID, message string
		item, error             []byte
	}
	if !scan(line, func(name, value []byte) {
		switch string(name) {
		case "type":
			m.kind = textOf(value)
		case "thread_id":
			m.threadID = textOf(value)
		case "message":
			m.message = textOf(value)
		case "item":
			m.item = value
		case "error":
			m.error = value
		}
	}) {
		return
	}
	switch m.kind {
	case "thread.started":
		s.conversation(m.threadID)
	case "item.started", "item.updated", "item.completed":
		item := readCodexItem(m.item)
		s.codexItem(&item, m.kind == "item.started", m.kind == "item.completed")
	case "error":
		s.failure.Report(m.message, 0, "")
	case "turn.failed":
		if e := readCodexError(m.error); e != nil {
			s.failure.Final(e.Message, e.status(), e.code())
		}
	case "turn.completed":
		s.failure.Recovered()
	}
}

// readCodexError decodes an error, nil for none.
func readCodexError(raw []byte) (e *codexError) {
	if json.Unmarshal(raw, &e) != nil {
		return nil
	}
	return e
}

// ofTool reports whether an event of codex exec belongs to a command, a patch or another tool. It
// decodes only the types, because most of codex's output is the output of commands.
func ofTool(line []byte) (tool bool) {
	_ = canonjson.Members(line, func(m canonjson.Member) { // a line that is not an object belongs to none
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

// codexError is an error as codex reports it.
type codexError struct {
	Message    string          `json:"message"`
	Additional string          `json:"additionalDetails"`
	Info       json.RawMessage `json:"codexErrorInfo"`
}

// status returns the HTTP status of the error, 0 for none.
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

// code returns codex's name of the error, "" for none.
func (e *codexError) code() (word string) {
	_ = json.Unmarshal(e.Info, &word) // an object has no code
	return word
}
