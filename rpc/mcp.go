package rpc

// Tools for agents over the Model Context Protocol. The official SDK serves it; what
// comes and goes on stdin and stdout passes an agentConn of ours.
// https://modelcontextprotocol.io/specification/2025-11-25

import (
	"context"
	"encoding/json"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpVersions are those that are spoken, the newest first.
func mcpVersions() []string { return []string{"2025-11-25", "2025-06-18"} }

const (
	// maxToolCalls bounds the calls of one agent that are under way.
	maxToolCalls = 32
	// toolGrace is how long calls may go on when the agent says nothing more.
	toolGrace = time.Second
)

// Toolbox is what one MCP server offers.
type Toolbox struct {
	Version string // of this program
	Tools   []Tool
	// Admit, when set, is asked before each call. It returns what the call is carried
	// out with, or why it is refused.
	Admit func(ctx context.Context, arguments json.RawMessage) (context.Context, json.RawMessage, error)
}

// Serve answers the requests of one agent until its input or the context ends; calls
// of tools are carried out side by side, and are called off with the context, or a
// second after the end of the input. A line that is no message is answered and changes
// nothing. The error is that of the output. What reads the input may outlive Serve
// until the input ends.
func (t Toolbox) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn := newAgentConn(ctx, cancel, in, out)
	session, err := t.server(ctx).Connect(ctx, conn, nil)
	if err != nil {
		return err
	}
	_ = session.Wait() // how the conversation ended; what failed is the output's
	return conn.failure()
}

// server is the SDK's server of the tools. Calls end with the context.
func (t Toolbox) server(ctx context.Context) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "ac", Version: t.Version}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, SupportedProtocolVersions: mcpVersions(),
	})
	for _, tool := range t.Tools {
		hints := &sdk.ToolAnnotations{ReadOnlyHint: !tool.Acts, DestructiveHint: new(false), OpenWorldHint: new(false)}
		described := &sdk.Tool{Name: tool.Name, Description: tool.Description, InputSchema: tool.params.Schema(), Annotations: hints}
		server.AddTool(described, func(called context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			called, cancel := context.WithCancel(called)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			return t.carryOut(called, tool, r), nil
		})
	}
	return server
}

func (t Toolbox) carryOut(ctx context.Context, tool Tool, r *sdk.CallToolRequest) *sdk.CallToolResult {
	if token := r.Params.GetProgressToken(); token != nil {
		ctx = context.WithValue(ctx, progressKey{}, &progress{session: r.Session, token: token})
	}
	arguments := r.Params.Arguments
	if t.Admit != nil {
		var err error
		if ctx, arguments, err = t.Admit(ctx, arguments); err != nil {
			return refused(err)
		}
	}
	return tool.result(ctx, arguments)
}

type progressKey struct{}

// progress is where a call says how far it is. A call says so one step after another.
type progress struct {
	session *sdk.ServerSession
	token   any
	steps   float64
}

// Progress says to the agent that a call goes on, where it wants to know.
func Progress(ctx context.Context, message string) {
	p, ok := ctx.Value(progressKey{}).(*progress)
	if !ok || ctx.Err() != nil {
		return
	}
	p.steps++
	step := &sdk.ProgressNotificationParams{ProgressToken: p.token, Progress: p.steps, Message: message}
	_ = p.session.NotifyProgress(ctx, step) // an agent that is gone hears nothing
}
