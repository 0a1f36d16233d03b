package rpc

// Tools of agents: their arguments by the rules of a struct, their results as text
// and as data.

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

// Tool is something that an agent may call.
type Tool struct {
	Name        string
	Description string
	// Acts: it changes something. Agents ask nobody about tools that only read.
	Acts bool

	params *param.Decoder
	call   func(ctx context.Context, raw []byte) (any, error)
}

// NewTool makes a tool whose arguments are decoded into A by the rules in its
// tags. A result that is a string is what the agent reads; any other encodes to a
// JSON object, which the agent gets as data and as text. An error is one of the
// call, which the agent reads too.
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

// result carries a call out. What the tool refuses, and what goes wrong in it, is a
// result that the agent reads and may do better after.
func (t Tool) result(ctx context.Context, raw []byte) (result *sdk.CallToolResult) {
	defer func() {
		if r := recover(); r != nil {
			result = refused(fault.New(fault.Internal, "%s met an internal fault: %v", t.Name, r))
		}
	}()
	answer, err := t.call(ctx, raw)
	if err != nil {
		return refused(err)
	}
	if text, ok := answer.(string); ok {
		return &sdk.CallToolResult{Content: inWords(text)}
	}
	text, err := Encode(answer)
	if err != nil {
		return refused(err)
	}
	return &sdk.CallToolResult{Content: inWords(string(text)), StructuredContent: json.RawMessage(text)}
}

// refused is a result that says why there is none: the machine word of the reason,
// then the sentence.
func refused(err error) *sdk.CallToolResult {
	sentence := err.Error()
	if e, ok := errors.AsType[*fault.Error](err); ok {
		sentence = e.InFull()
	}
	return &sdk.CallToolResult{Content: inWords(fmt.Sprintf("%s: %s", fault.ReasonOf(err), sentence)), IsError: true}
}

func inWords(text string) []sdk.Content { return []sdk.Content{&sdk.TextContent{Text: text}} }
