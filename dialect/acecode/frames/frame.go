// Package frames defines the events of sessions for clients of the ACECode daemon: the mapping from
// the lines of a run's log, both names of each event, and the state of a client that received them
// all.
package frames

import "encoding/json"

// Types of events on the wire.
const (
	TypeToken             = "token"
	typeReasoning         = "reasoning"
	TypeMessage           = "message"
	typeToolStart         = "tool_start"
	TypeToolUpdate        = "tool_update"
	typeToolEnd           = "tool_end"
	typePermissionRequest = "permission_request"
	typePermissionClosed  = "permission_closed"
	typeQuestionRequest   = "question_request"
	typeQuestionClosed    = "question_closed"
	typeUsage             = "usage"
	typeTodos             = "todo_updated"
	typeProgress          = "agent_progress"
	TypeSession           = "session_updated"
	typeReplace           = "transcript_replace"
	typeBusy              = "busy_changed"
	typeDone              = "done"
	TypeError             = "error"
)

// documented returns the names of events in the published document, for those it defines.
func documented() map[string]string {
	return map[string]string{
		TypeToken: "Token", typeReasoning: "ReasoningDelta", TypeMessage: "Message", typeToolStart: "ToolStart", TypeToolUpdate: "ToolUpdate",
		typeToolEnd: "ToolEnd", typePermissionRequest: "PermissionRequest", typeUsage: "Usage", typeReplace: "TranscriptReplace",
		typeBusy: "BusyChanged", typeDone: "Done", TypeError: "Error",
	}
}

// Place is the part of every payload that identifies its session.
type Place struct {
	SessionID     string `json:"session_id"`
	WorkspaceHash string `json:"workspace_hash"`
	Cwd           string `json:"cwd"`
}

// Frame is an event of a session. Its payload is shared: callers must not modify it.
type Frame struct {
	Type    string
	Seq     int64 // 0 if it has no number
	At      int64 // milliseconds since the epoch
	Payload any
}

// Envelope is a frame on the wire.
type Envelope struct {
	Type          string `json:"type"`
	Seq           int64  `json:"seq,omitempty"`
	At            int64  `json:"timestamp_ms,omitempty"`
	SessionID     string `json:"session_id,omitempty"`
	WorkspaceHash string `json:"workspace_hash,omitempty"`
	Payload       any    `json:"payload"`
}

// Shape selects which of the two names of each event a client gets.
type Shape int

// The two shapes.
const (
	ShapeWire     Shape = iota // names that the shipped client uses
	ShapeDocument              // names in the published document
)

// name returns the name of an event type in a shape.
func (s Shape) name(kind string) string {
	if s == ShapeDocument {
		if name, ok := documented()[kind]; ok {
			return name
		}
	}
	return kind
}

// Envelope returns the frame for a client.
func (f Frame) Envelope(at Place, s Shape) Envelope {
	return Envelope{s.name(f.Type), f.Seq, f.At, at.SessionID, at.WorkspaceHash, f.Payload}
}

// TextPayload is the payload of token and reasoning events.
type TextPayload struct {
	Text   string `json:"text"`
	Delta  string `json:"delta"`
	ItemID string `json:"item_id"`
	Place
}

// metadata holds what a message has besides its text.
type metadata struct {
	DisplayText     string          `json:"display_text,omitempty"`
	ClientMessageID string          `json:"client_message_id,omitempty"`
	Contexts        json.RawMessage `json:"contexts,omitempty"`
	Attachments     json.RawMessage `json:"attachments,omitempty"`
	ToolSuccess     *bool           `json:"tool_success,omitempty"`
	ToolSummary     *toolSummary    `json:"tool_summary,omitempty"`
	ToolHunks       []hunk          `json:"tool_hunks,omitempty"`
	Truncated       bool            `json:"truncated,omitempty"`
}

// Message is a message of the transcript.
type Message struct {
	Role        string     `json:"role"`
	Content     string     `json:"content"`
	ID          string     `json:"id"`
	Timestamp   string     `json:"timestamp"`
	TimestampMS int64      `json:"timestamp_ms"`
	Metadata    *metadata  `json:"metadata,omitempty"`
	ToolCalls   []toolCall `json:"tool_calls,omitempty"`
	ToolCallID  string     `json:"tool_call_id,omitempty"`
	Tool        string     `json:"tool,omitempty"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function called `json:"function"`
}

type called struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// flat embeds the members of a message in the payload itself.
type flat = Message

// MessagePayload is a message with the fields that both generations of clients read.
type MessagePayload struct {
	flat
	Message Message `json:"message"`
	Place
}

// NewMessagePayload returns the payload of a message.
func NewMessagePayload(m Message, at Place) MessagePayload { return MessagePayload{m, m, at} }

type toolStartPayload struct {
	Tool            string          `json:"tool"`
	ProviderTool    string          `json:"provider_tool"`
	Args            json.RawMessage `json:"args"`
	CommandPreview  string          `json:"command_preview"`
	Preview         string          `json:"preview"`
	DisplayOverride string          `json:"display_override"`
	TaskComplete    bool            `json:"is_task_complete"`
	CallID          string          `json:"tool_call_id"`
	Index           int             `json:"tool_index"`
	Place
}

// ToolUpdatePayload is the output of a tool so far.
type ToolUpdatePayload struct {
	Tool       string   `json:"tool"`
	CallID     string   `json:"tool_call_id"`
	TailLines  []string `json:"tail_lines"`
	Partial    string   `json:"current_partial"`
	TotalLines int64    `json:"total_lines"`
	TotalBytes int64    `json:"total_bytes"`
	Elapsed    float64  `json:"elapsed_seconds"`
	Chunk      string   `json:"chunk"`
	Place
}

type toolEndPayload struct {
	Tool        string      `json:"tool"`
	CallID      string      `json:"tool_call_id"`
	Index       int         `json:"tool_index"`
	Success     bool        `json:"success"`
	OK          bool        `json:"ok"`
	Elapsed     float64     `json:"elapsed_seconds"`
	Summary     toolSummary `json:"summary"`
	Hunks       []hunk      `json:"hunks"`
	Output      string      `json:"output,omitempty"`
	OutputTail  string      `json:"output_tail"`
	Attachments []struct{}  `json:"attachments"`
	Place
}

type toolSummary struct {
	Icon    string   `json:"icon"`
	Verb    string   `json:"verb"`
	Object  string   `json:"object"`
	Metrics []metric `json:"metrics"`
}

type metric struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

type permissionPayload struct {
	RequestID      string          `json:"request_id"`
	Tool           string          `json:"tool"`
	Args           json.RawMessage `json:"args"`
	CommandPreview string          `json:"command_preview"`
	Title          string          `json:"title"`
	Operation      string          `json:"operation"`
	Diff           string          `json:"diff,omitempty"`
	Options        []string        `json:"options"`
	ExpiresAtMS    *int64          `json:"expires_at_ms"`
	CallID         string          `json:"tool_call_id,omitempty"`
	Place
}

type permissionClosedPayload struct {
	RequestID string `json:"request_id"`
	Choice    string `json:"choice"`
	Reason    string `json:"reason"`
	Place
}

// QuestionPayload is an agent's request with questions.
type QuestionPayload struct {
	RequestID string     `json:"request_id"`
	Questions []Question `json:"questions"`
	Place
}

// Question is one of the questions of a request.
type Question struct {
	ID       string           `json:"id"`
	Text     string           `json:"text"`
	Question string           `json:"question"`
	Options  []questionOption `json:"options"`
	Multi    bool             `json:"multiSelect"`
}

type questionOption struct {
	Label       string `json:"label"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
}

type questionClosedPayload struct {
	RequestID string `json:"request_id"`
	Reason    string `json:"reason"`
	Place
}

// Tokens is usage in the counts of the protocol.
type Tokens struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Reasoning  int64 `json:"reasoning_tokens"`
}

// TurnTokens is the usage of a turn.
type TurnTokens struct {
	Tokens
	HasData   bool `json:"has_data"`
	Estimated bool `json:"estimated"`
}

type usagePayload struct {
	TurnTokens
	Place
}

// Todo is a step of a plan.
type Todo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

// TodoSummary counts the steps of a plan.
type TodoSummary struct {
	Total      int `json:"total"`
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Cancelled  int `json:"cancelled"`
}

type todosPayload struct {
	Todos   []Todo      `json:"todos"`
	Summary TodoSummary `json:"summary"`
	Place
}

type progressPayload struct {
	Phase string `json:"phase"`
	Label string `json:"label"`
	Place
}

// Titled returns the event with the title of a session and the number from which to continue.
func Titled(title string, seq, at int64, place Place) Frame {
	return Frame{TypeSession, seq, at, SessionPayload{title, place}}
}

// SessionPayload is the title of a session.
type SessionPayload struct {
	Title string `json:"title"`
	Place
}

type replacePayload struct {
	Messages []Message `json:"messages"`
	Place
}

type busyPayload struct {
	Busy    bool   `json:"busy"`
	Reason  string `json:"reason"`
	TurnID  string `json:"turn_id"`
	Outcome string `json:"outcome,omitempty"`
	Place
}

type donePayload struct {
	Reason  string `json:"reason"`
	Outcome string `json:"outcome"`
	TurnID  string `json:"turn_id"`
	Place
}

type errorPayload struct {
	Reason    string `json:"reason"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	RequestID string `json:"request_id,omitempty"`
	Source    string `json:"source"`
	Place
}
