package transcript

// The items of a transcript, and their bounds.

import (
	"encoding/json"
	"strings"

	"ac/internal/clip"
	"ac/runs/interaction"
)

// Kinds of items.
const (
	KindMessage    = "message"
	KindReasoning  = "reasoning"
	KindTool       = "tool"
	KindPlan       = "plan"
	KindFileChange = "file_change"
	KindQuestion   = "question"
	KindPermission = "permission"
	KindNotice     = "notice"
	KindUsage      = "usage"
)

// Kinds lists the kinds of items.
func Kinds() []string {
	return []string{KindMessage, KindReasoning, KindTool, KindPlan, KindFileChange, KindQuestion, KindPermission, KindNotice, KindUsage}
}

// Roles of items.
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

// Item is one entry of a transcript.
type Item struct {
	ID         string `json:"item_id"`
	Kind       string `json:"kind"`
	Role       string `json:"role"`
	Turn       int    `json:"turn"` // 0 outside turns
	SessionRef string `json:"session_ref"`
	Actor      string `json:"actor,omitempty"` // the person or agent of the company who acted
	Text       string `json:"text,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`
	// PromptBytes is the size of the text sent to the agent, if people see another one.
	PromptBytes   int64               `json:"prompt_bytes,omitempty"`
	DisplayMeta   json.RawMessage     `json:"display_meta,omitempty"`
	Note          string              `json:"note,omitempty"`   // why a text was not delivered
	Parent        string              `json:"parent,omitempty"` // the tool that a subagent works for, by the agent's own id
	Tool          *Tool               `json:"tool,omitempty"`
	Plan          []Step              `json:"plan,omitzero"`
	InteractionID string              `json:"interaction_id,omitempty"`
	Interaction   *interaction.Record `json:"interaction,omitempty"`
	Usage         *Usage              `json:"usage,omitempty"`
	State         string              `json:"state"`
	SeqFirst      int64               `json:"seq_first"`
	SeqLast       int64               `json:"seq_last"`
	StartedAt     string              `json:"started_at"`
	EndedAt       string              `json:"ended_at,omitempty"`

	own    string // the agent's own id, "" for none
	order  int    // position within its execution
	number int    // position within the run
	text   textBuffer
	size   int // size as last counted, in bytes
}

// Tool is a tool call of an agent.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Kind        string          `json:"kind"` // read edit delete move search execute think fetch mcp other
	Server      string          `json:"server,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	OutputTail  string          `json:"output_tail,omitempty"`
	OutputBytes int64           `json:"output_bytes,omitempty"` // of all output
	Status      string          `json:"status"`                 // pending in_progress completed failed declined cancelled
	ExitCode    *int            `json:"exit_code,omitempty"`
	Locations   []Location      `json:"locations,omitempty"`
	Diff        string          `json:"diff,omitempty"`

	output textBuffer
}

// Location is a file that a tool accessed.
type Location struct {
	Path string `json:"path"`
	Line *int   `json:"line,omitempty"`
}

// Step is one step of a plan.
type Step struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending in_progress completed
}

// Usage is the usage of one turn. Unknown parts are absent.
type Usage struct {
	InputTokens           *int64   `json:"input_tokens,omitempty"`
	CachedInputTokens     *int64   `json:"cached_input_tokens,omitempty"`
	CacheWriteTokens      *int64   `json:"cache_write_tokens,omitempty"` // part of InputTokens
	OutputTokens          *int64   `json:"output_tokens,omitempty"`
	ReasoningOutputTokens *int64   `json:"reasoning_output_tokens,omitempty"`
	TotalTokens           int64    `json:"total_tokens"`
	CostUSD               *float64 `json:"cost_usd,omitempty"`
}

// Statuses of tools, and of the steps of plans.
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
	maxSteps  = 1000 // steps of a plan
	maxFiles  = 1000 // locations of a tool

	// Approximate sizes of the structs themselves.
	itemBytes, toolBytes, entryBytes = 480, 240, 32
)

// Snapshot returns a copy of the item that later changes of the fold do not affect. The copy may
// be used in another goroutine.
func (i *Item) Snapshot() *Item {
	c := *i
	c.text = textBuffer{}
	if i.Tool != nil {
		c.Tool = new(*i.Tool)
		c.Tool.output = textBuffer{}
	}
	return &c
}

// bytes returns the approximate memory of the item.
func (i *Item) bytes() int {
	n := itemBytes + len(i.ID) + len(i.own) + max(len(i.Text), i.text.size()) + len(i.DisplayMeta)
	for _, s := range i.Plan {
		n += entryBytes + len(s.Text)
	}
	if i.Interaction != nil {
		n += interactionBytes(i.Interaction)
	}
	if t := i.Tool; t != nil {
		n += toolBytes + len(t.Title) + len(t.Input) + max(len(t.OutputTail), t.output.size()) + len(t.Diff)
		for _, l := range t.Locations {
			n += entryBytes + len(l.Path)
		}
	}
	return n
}

func interactionBytes(r *interaction.Record) int {
	n := itemBytes + len(r.Title) + len(r.Prompt) + len(r.Resource) + len(r.ArgsPreview) + len(r.Diff) + len(r.Note)
	for _, o := range r.Options {
		n += 5*entryBytes + len(o.Label) + len(o.Description)
	}
	for _, q := range r.Questions {
		n += 5*entryBytes + len(q.Question) + len(q.Header)
		for _, c := range q.Options {
			n += entryBytes + len(c.Label) + len(c.Description)
		}
	}
	if r.Text != nil {
		n += len(*r.Text)
	}
	for _, words := range r.Answers {
		for _, w := range words {
			n += entryBytes + len(w)
		}
	}
	return n
}

// answers reports whether the item is a message of the agent itself, rather than of a subagent.
func (i *Item) answers() bool {
	return i.Kind == KindMessage && i.Role == RoleAssistant && i.Parent == "" && strings.TrimSpace(i.Text) != ""
}

// compact frees the spare memory of texts that no longer grow.
func (i *Item) compact() {
	if i.text.size() > 0 {
		i.Text, i.text = strings.Clone(i.Text), textBuffer{}
	}
	if i.Tool != nil && i.Tool.output.size() > 0 {
		i.Tool.OutputTail, i.Tool.output = strings.Clone(i.Tool.OutputTail), textBuffer{}
	}
}

func (i *Item) setText(text string) {
	i.Text, i.Truncated = cut(text, maxText)
	i.text = textBuffer{}
}

// appendText reports whether the whole text still fits.
func (i *Item) appendText(text string) bool {
	switch {
	case i.Truncated:
		return false
	case len(i.Text)+len(text) > maxText:
		i.setText(i.Text + text)
		return false
	}
	i.Text = i.text.add(i.Text, text)
	return true
}

func (t *Tool) setOutput(text string) {
	t.OutputTail, t.OutputBytes, t.output = strings.Clone(clip.Tail(text, maxOutput)), int64(len(text)), textBuffer{}
}

func (t *Tool) appendOutput(text string) {
	t.OutputTail = t.output.addTail(t.OutputTail, text, maxOutput)
	t.OutputBytes += int64(len(text))
}

// setInput stores the JSON of a tool's input. An input that is too long is cut and stored as a
// string.
func (t *Tool) setInput(raw json.RawMessage) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	if len(raw) > maxInput {
		short := clip.Head(string(raw), maxInput)
		raw, _ = json.Marshal(short) // a string always encodes
	}
	t.Input = raw
}

func (t *Tool) setDiff(text string) { t.Diff, _ = cut(text, maxDiff) }

// setPlan stores the steps of a plan, and formats them as a Markdown list.
func (i *Item) setPlan(steps []Step) {
	i.Plan = steps[:min(len(steps), maxSteps)]
	var b strings.Builder
	for _, s := range i.Plan {
		mark := "- [ ] "
		if s.Status == ToolCompleted {
			mark = "- [x] "
		}
		b.WriteString(mark + s.Text)
		if s.Status == ToolInProgress {
			b.WriteString(" (in progress)")
		}
		b.WriteString("\n")
	}
	i.setText(strings.TrimSuffix(b.String(), "\n"))
}
