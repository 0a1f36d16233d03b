package comma

// Messages to clients. Clients check each message against a closed schema and drop those that do
// not match. So there are no extra members, and absent members are omitted, never null.

import (
	"ac/dialect"
	"ac/internal/canonjson"
	"ac/internal/shape"
)

// frame is a message: its type and its own members.
type frame struct {
	kind string
	body any
}

// encode encodes a message with its timestamp. requestID is the request that it answers, nil for
// none.
func (f frame) encode(stamp string, requestID *string) ([]byte, error) {
	body, err := dialect.Encode(f.body)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(body)+128)
	out = canonjson.AppendString(append(out, `{"type":`...), f.kind)
	if len(body) > len("{}") {
		out = append(append(out, ','), body[1:len(body)-1]...)
	}
	out = canonjson.AppendString(append(out, `,"ts":`...), stamp)
	if requestID != nil {
		out = canonjson.AppendString(append(out, `,"requestId":`...), *requestID)
	}
	return append(out, '}'), nil
}

type noBody struct{}

type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// usage counts the reported tokens, 0 if none were reported.
type usage struct {
	PromptTokens     int64 `json:"promptTokens"`
	CompletionTokens int64 `json:"completionTokens"`
}

func (u *usage) add(more usage) {
	u.PromptTokens += more.PromptTokens
	u.CompletionTokens += more.CompletionTokens
}

// callResult is the result of a step or a call.
type callResult struct {
	Text         string `json:"text"`
	Usage        usage  `json:"usage"`
	FinishReason string `json:"finishReason"`
}

func resultOf(text string, used usage) callResult { return callResult{text, used, "stop"} }

type runPrepared struct {
	RunID        string       `json:"runId"`
	StrategyName string       `json:"strategyName"`
	Agents       []string     `json:"agents"`
	FlowTree     shape.Value  `json:"flowTree"`
	Conversation conversation `json:"conversation"`
	MCPServers   []mcpServer  `json:"mcpServers"`
}

type strategyStarted struct {
	RunID        string      `json:"runId"`
	StrategyName string      `json:"strategyName"`
	Agents       []string    `json:"agents"`
	FlowTree     shape.Value `json:"flowTree"`
}

type stepStarted struct {
	RunID    string `json:"runId"`
	StepName string `json:"stepName"`
	Message  string `json:"message"`
}

type stepCompleted struct {
	RunID    string     `json:"runId"`
	StepName string     `json:"stepName"`
	Result   callResult `json:"result"`
}

type agentStreaming struct {
	RunID     string `json:"runId"`
	AgentName string `json:"agentName"`
	Model     string `json:"model,omitempty"`
	Event     any    `json:"event"`
}

type agentOutput struct {
	RunID     string `json:"runId"`
	AgentName string `json:"agentName"`
	Model     string `json:"model,omitempty"`
	Text      string `json:"text"`
	Usage     usage  `json:"usage"`
}

type requestInput struct {
	RunID     string `json:"runId"`
	AgentName string `json:"agentName"`
	Prompt    string `json:"prompt,omitempty"`
}

type requestPermission struct {
	RunID     string             `json:"runId"`
	RequestID string             `json:"requestId"`
	AgentName string             `json:"agentName"`
	ToolName  string             `json:"toolName,omitempty"`
	Operation string             `json:"operation"`
	Resource  string             `json:"resource"`
	Reason    string             `json:"reason"`
	Details   *permissionDetails `json:"details,omitempty"`
}

type permissionDetails struct {
	Title       string  `json:"title,omitempty"`
	Operation   string  `json:"operation,omitempty"`
	ArgsPreview string  `json:"args_preview,omitempty"`
	Diff        string  `json:"diff,omitempty"`
	ExpiresAt   *string `json:"expires_at,omitempty"`
}

type requestQuestion struct {
	RunID     string `json:"runId"`
	RequestID string `json:"requestId"`
	AgentName string `json:"agentName"`
	ToolName  string `json:"toolName"`
	Question  string `json:"question"`
}

type policyUpdated struct {
	RunID    string       `json:"runId"`
	Tool     string       `json:"tool"`
	Policies []policyName `json:"policies"`
}

type policyName struct {
	Name string `json:"name"`
}

type steerQueued struct {
	RunID string `json:"runId"`
	Text  string `json:"text"`
}

type strategyCompleted struct {
	RunID  string `json:"runId"`
	Result string `json:"result"`
	Usage  usage  `json:"usage"`
}

type strategyError struct {
	RunID string    `json:"runId"`
	Error errorBody `json:"error"`
}

// The events of agent_streaming.
type (
	plainEvent struct { // step-start
		Type string `json:"type"`
	}
	textEvent struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingEvent struct {
		Type string  `json:"type"` // thinking-start, thinking, thinking-end
		ID   string  `json:"id"`
		Text *string `json:"text,omitempty"`
	}
	toolCall struct {
		Type       string `json:"type"`
		ToolCallID string `json:"toolCallId"`
		ToolName   string `json:"toolName"`
		Args       string `json:"args"`
	}
	toolResult struct {
		Type       string `json:"type"`
		ToolCallID string `json:"toolCallId"`
		ToolName   string `json:"toolName"`
		Output     string `json:"output"`
		Status     string `json:"status"`
		Error      string `json:"error,omitempty"`
	}
	doneEvent struct {
		Type   string     `json:"type"`
		Result callResult `json:"result"`
	}
)
