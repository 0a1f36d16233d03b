package rpc

// Tools for agents over the Model Context Protocol. The official SDK serves it over agentConn, the
// transport on stdin and stdout.
// https://modelcontextprotocol.io/specification/2025-11-25

import (
	"context"
	"encoding/json"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpVersions lists the supported protocol versions, newest first.
func mcpVersions() []string { return []string{"2025-11-25", "2025-06-18"} }

const (
	// maxToolCalls bounds the calls of one agent in flight.
	maxToolCalls = 32
	// toolGrace is how long calls may run after the agent's input has ended.
	toolGrace = time.Second
)

// Toolbox is what one MCP server offers.
type Toolbox struct {
	Version string // of this program
	Tools   []Tool
	// Admit, if not nil, is called before each call. It returns the context and arguments to call
	// the tool with, or an error that refuses the call.
	Admit func(ctx context.Context, arguments json.RawMessage) (context.Context, json.RawMessage, error)
}

// Serve answers the requests of one agent until its input or the context ends. Tool calls run
// concurrently. They are canceled with the context, or one second after the end of the input. A
// malformed line gets an error answer and changes nothing. Serve returns only errors of the output
// and of the SDK's connection. The goroutine that reads the input may outlive Serve until the input
// ends.
func (t Toolbox) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn := newAgentConn(ctx, cancel, in, out)
	session, err := t.server(ctx).Connect(ctx, conn, nil)
	if err != nil {
		return err
	}
	_ = session.Wait() // how the conversation ended does not matter; an output failure is in conn
	return conn.failure()
}

// server makes the SDK's server of the tools. Its calls are canceled with ctx.
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
			return errorResult(err)
		}
	}
	return tool.result(ctx, arguments)
}

type progressKey struct{}

// progress is the progress state of one call. It is not safe for concurrent use.
type progress struct {
	session *sdk.ServerSession
	token   any
	steps   float64
}

// Progress notifies the agent that a call is still running, if the agent asked for progress.
func Progress(ctx context.Context, message string) {
	p, ok := ctx.Value(progressKey{}).(*progress)
	if !ok || ctx.Err() != nil {
		return
	}
	p.steps++
	step := &sdk.ProgressNotificationParams{ProgressToken: p.token, Progress: p.steps, Message: message}
	_ = p.session.NotifyProgress(ctx, step) // best effort: the agent may have disconnected
}
