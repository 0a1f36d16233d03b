package rpc

// Tools of agents. A struct defines the arguments; results are text and data.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ac/internal/fault"
	"ac/internal/param"
)

// Tool is a function that an agent may call.
type Tool struct {
	Name        string
	Description string
	// Acts marks a tool that changes something. Agents ask no permission for tools that only read.
	Acts bool

	params *param.Decoder
	call   func(ctx context.Context, raw []byte) (any, error)
}

// NewTool makes a tool whose arguments are decoded into A by the rules in its tags. The agent reads
// a string result as text. Any other result encodes to a JSON object, which the agent gets as data
// and as text. An error of fn becomes an error result, which the agent reads.
func NewTool[A, R any](name, description string, fn func(ctx context.Context, args A) (R, error)) Tool {
	params := param.NewDecoder(reflect.TypeFor[A]())
	return Tool{Name: name, Description: description, params: params, call: func(ctx context.Context, raw []byte) (any, error) {
		var args A
		if err := params.Decode(raw, &args); err != nil {
			return nil, err
		}
		return fn(ctx, args)
	}}
}

// Acting marks a tool that changes something.
func Acting(t Tool) Tool {
	t.Acts = true
	return t
}

// result runs a call. Refusals and failures, including panics, become a result that the agent can
// read and learn from.
func (t Tool) result(ctx context.Context, raw []byte) (result *sdk.CallToolResult) {
	defer func() {
		if r := recover(); r != nil {
			result = errorResult(fault.New(fault.Internal, "%s met an internal fault: %v", t.Name, r))
		}
	}()
	answer, err := t.call(ctx, raw)
	if err != nil {
		return errorResult(err)
	}
	if text, ok := answer.(string); ok {
		return &sdk.CallToolResult{Content: inWords(text)}
	}
	text, err := Encode(answer)
	if err != nil {
		return errorResult(err)
	}
	return &sdk.CallToolResult{Content: inWords(string(text)), StructuredContent: json.RawMessage(text)}
}

// errorResult returns an error result: the reason's code, then the sentence.
func errorResult(err error) *sdk.CallToolResult {
	sentence := err.Error()
	if e, ok := errors.AsType[*fault.Error](err); ok {
		sentence = e.InFull()
	}
	return &sdk.CallToolResult{Content: inWords(fmt.Sprintf("%s: %s", fault.ReasonOf(err), sentence)), IsError: true}
}

func inWords(text string) []sdk.Content { return []sdk.Content{&sdk.TextContent{Text: text}} }
