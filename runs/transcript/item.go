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

// Item is a piece of a transcript.
type Item struct {
	ID         string `json:"item_id"`
	Kind       string `json:"kind"`
	Role       string `json:"role"`
	Turn       int    `json:"turn"` // 0 outside of turns
	SessionRef string `json:"session_ref"`
	Actor      string `json:"actor,omitempty"` // of what a person or an agent of the company did
	Text       string `json:"text,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`
	// PromptBytes is the size of what the agent gets where people are shown another text.
	PromptBytes   int64               `json:"prompt_bytes,omitempty"`
	DisplayMeta   json.RawMessage     `json:"display_meta,omitempty"`
	Note          string              `json:"note,omitempty"`   // why a text was not delivered
	Parent        string              `json:"parent,omitempty"` // the tool that a sub-agent works for, by the agent's own id
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

	own    string // the agent's own id, "" where it has none
	order  int    // among the items of its execution
	number int    // among the items of the run
	text   growing
	size   int // as it was counted last, in bytes
}

// Tool is what an agent did.
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

// Usage is what one turn used. Parts that nobody knows are absent.
type Usage struct {
	InputTokens           *int64   `json:"input_tokens,omitempty"`
	CachedInputTokens     *int64   `json:"cached_input_tokens,omitempty"`
	CacheWriteTokens      *int64   `json:"cache_write_tokens,omitempty"` // of InputTokens
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
	maxSteps  = 1000 // of a plan
	maxFiles  = 1000 // locations of a tool

	// What the structs themselves take, about.
	itemBytes, toolBytes, entryBytes = 480, 240, 32
)

// Snapshot is the item as it stands, which later changes of the fold leave as it is, in
// another goroutine, too.
func (i *Item) Snapshot() *Item {
	c := *i
	c.text = growing{}
	if i.Tool != nil {
		c.Tool = new(*i.Tool)
		c.Tool.output = growing{}
	}
	return &c
}

// bytes is about how much memory the item holds.
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

// answers reports whether the item is something that the agent said, not one of its
// sub-agents.
func (i *Item) answers() bool {
	return i.Kind == KindMessage && i.Role == RoleAssistant && i.Parent == "" && strings.TrimSpace(i.Text) != ""
}

// compact gives up the memory that texts which no longer grow do not need.
func (i *Item) compact() {
	if i.text.size() > 0 {
		i.Text, i.text = strings.Clone(i.Text), growing{}
	}
	if i.Tool != nil && i.Tool.output.size() > 0 {
		i.Tool.OutputTail, i.Tool.output = strings.Clone(i.Tool.OutputTail), growing{}
	}
}

func (i *Item) setText(text string) {
	i.Text, i.Truncated = cut(text, maxText)
	i.text = growing{}
}

// appendText reports whether the text as a whole still fits.
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
	t.OutputTail, t.OutputBytes, t.output = strings.Clone(clip.Tail(text, maxOutput)), int64(len(text)), growing{}
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
		short := clip.Head(string(raw), maxInput)
		raw, _ = json.Marshal(short) // a text always encodes
	}
	t.Input = raw
}

func (t *Tool) setDiff(text string) { t.Diff, _ = cut(text, maxDiff) }

// setPlan keeps the steps of a plan, and writes them as a list of Markdown.
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
