package transcript

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Kinds of items.
const (
	KindMessage    = "message"
	KindReasoning  = "reasoning"
	KindTool       = "tool"
	KindFileChange = "file_change"
	KindPlan       = "plan"
	KindNotice     = "notice"
)

// Roles of messages and notices.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleSystem    = "system"
)

// States of an item.
const (
	StateOpen   = "open"
	StateClosed = "closed"
)

// Item is a piece of a transcript.
type Item struct {
	ID         string `json:"item_id"`
	Kind       string `json:"kind"`
	Role       string `json:"role"`
	Turn       int    `json:"turn"`
	SessionRef string `json:"session_ref"`
	Actor      string `json:"actor,omitempty"`
	Text       string `json:"text,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`
	Tool       *Tool  `json:"tool,omitempty"`
	Plan       []Step `json:"plan,omitempty"`
	State      string `json:"state"`
	SeqFirst   int64  `json:"seq_first"`
	SeqLast    int64  `json:"seq_last"`
	StartedAt  string `json:"started_at"`
	EndedAt    string `json:"ended_at,omitempty"`
	Parent     string `json:"parent,omitempty"` // the tool that a sub-agent works for

	own  string // the agent's own id, "" where it gave none
	void bool   // it turned out to be something else
	text growing
}

// Tool is what an agent did.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Kind        string          `json:"kind"` // read edit delete move search execute think fetch mcp other
	Server      string          `json:"server,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	OutputTail  string          `json:"output_tail,omitempty"`
	OutputBytes int64           `json:"output_bytes,omitempty"`
	Status      string          `json:"status"` // pending in_progress completed failed declined cancelled
	ExitCode    *int            `json:"exit_code,omitempty"`
	Locations   []Location      `json:"locations,omitempty"`
	Diff        string          `json:"diff,omitempty"`

	output growing
}

// Location is a file that a tool touched.
type Location struct {
	Path string `json:"path"`
	Line *int   `json:"line,omitempty"`
}

// Step is one of a plan.
type Step struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending in_progress completed
}

// Statuses of tools.
const (
	ToolPending    = "pending"
	ToolInProgress = "in_progress"
	ToolCompleted  = "completed"
	ToolFailed     = "failed"
	ToolDeclined   = "declined"
	ToolCancelled  = "cancelled"
)

// Bounds of an item, in bytes.
const (
	maxText   = 256 << 10
	maxOutput = 16 << 10
	maxInput  = 16 << 10
	maxDiff   = 64 << 10
)

// head cuts a text at n bytes, on a character.
func head(text string, n int) (string, bool) {
	if len(text) <= n {
		return text, false
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], true
}

// tail is the last n bytes of a text, from a character on.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

func (i *Item) setText(text string) { i.Text, i.Truncated = head(text, maxText) }

func (i *Item) appendText(text string) {
	switch {
	case i.Truncated:
	case len(i.Text)+len(text) > maxText:
		i.setText(i.Text + text)
	default:
		i.Text = i.text.add(i.Text, text)
	}
}

func (t *Tool) setOutput(text string) {
	t.OutputTail, t.OutputBytes = tail(text, maxOutput), int64(len(text))
}

func (t *Tool) appendOutput(text string) {
	t.OutputTail = t.output.addTail(t.OutputTail, text, maxOutput)
	t.OutputBytes += int64(len(text))
}

// setInput keeps the JSON of a tool's input; one that is too long as a text.
func (t *Tool) setInput(raw json.RawMessage) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	if len(raw) > maxInput {
		cut, _ := head(string(raw), maxInput)
		raw, _ = json.Marshal(cut) // a text always encodes
	}
	t.Input = raw
}

// unwrapped is a command line without the shell that an agent runs it in.
func unwrapped(command string) string {
	for _, shell := range []string{"/bin/bash -lc ", "/usr/bin/bash -lc ", "bash -lc ", "/bin/sh -c ", "sh -c ", "/bin/bash -c ", "bash -c "} {
		inner, ok := strings.CutPrefix(command, shell)
		if !ok {
			continue
		}
		if n := len(inner); n > 1 && inner[0] == inner[n-1] && (inner[0] == '\'' || inner[0] == '"') {
			quote := inner[:1]
			inner = strings.ReplaceAll(inner[1:n-1], quote+`\`+quote+quote, quote)
		}
		return inner
	}
	return command
}
