package rpc

// An MCP server (Model Context Protocol, stdio transport) for agents: the
// framing of this server, with other methods.
// https://modelcontextprotocol.io/specification/2025-11-25

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/param"
	"ac/internal/shape"
)

// mcpVersions are the supported protocol versions, the newest last.
var mcpVersions = []string{"2025-06-18", "2025-11-25"}

// Tool is a tool that an agent may call. It is read-only.
type Tool struct {
	Name        string
	Description string

	params *param.Decoder
	call   func(ctx context.Context, raw []byte) (string, error)
}

// NewTool makes a tool whose arguments are decoded into A by the rules in its
// tags. The agent gets what fn returns, or its error.
func NewTool[A any](name, description string, fn func(ctx context.Context, args A) (string, error)) Tool {
	params := param.NewDecoder(reflect.TypeFor[A]())
	return Tool{Name: name, Description: description, params: params, call: func(ctx context.Context, raw []byte) (string, error) {
		var args A
		if err := params.Decode(raw, &args); err != nil {
			return "", err
		}
		return fn(ctx, args)
	}}
}

// Toolbox are the tools of one MCP server.
type Toolbox struct {
	Version string // of this program
	Tools   []Tool
}

// Serve answers the requests of one agent, one after the other, until its input
// ends or the context does. A malformed line is answered and has no effect. The
// error is that of the output.
func (t Toolbox) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := newFrameReader(in)
	met := false
	for ctx.Err() == nil {
		line, err := lines.next()
		if err != nil && !errors.Is(err, errLong) {
			return nil // the agent has ended
		}
		r, wrong := request{id: nullID}, errRequest
		if err == nil {
			r, wrong = parse(line)
		}
		var result any
		failure := error(wrong)
		switch {
		case wrong != nil:
		case r.id == nil:
			continue // a notification: none is supported
		default:
			result, failure = t.answer(ctx, r, &met)
		}
		if err := durable.WriteAll(out, appendAnswer(nil, r.id, result, failure)); err != nil {
			return err
		}
	}
	return nil
}

type mcpInitialize struct {
	ProtocolVersion string `json:"protocolVersion"`
}

type mcpServer struct {
	ProtocolVersion string          `json:"protocolVersion"`
	Capabilities    mcpCapabilities `json:"capabilities"`
	ServerInfo      mcpIdentity     `json:"serverInfo"`
}

type mcpCapabilities struct {
	Tools struct{} `json:"tools"`
}

type mcpIdentity struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type mcpTools struct {
	Tools []mcpTool `json:"tools"`
}

type mcpTool struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	InputSchema *shape.Schema `json:"inputSchema"`
	Annotations mcpHints      `json:"annotations"`
}

// mcpHints describe a read-only tool. Agents do not ask for permission for such
// a tool.
type mcpHints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

type mcpCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type mcpResult struct {
	Content []mcpText `json:"content"`
	IsError bool      `json:"isError"`
}

type mcpText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// answer serves one request. Before initialize only ping is answered.
func (t Toolbox) answer(ctx context.Context, r request, met *bool) (any, error) {
	switch {
	case r.method == "initialize":
		*met = true
		return t.introduce(r.params), nil
	case r.method == "ping":
		return struct{}{}, nil
	case *met && r.method == "tools/list":
		return t.list(), nil
	case *met && r.method == "tools/call":
		return t.use(ctx, r.params)
	}
	return nil, unknownMethod(r.method)
}

func (t Toolbox) introduce(params []byte) mcpServer {
	var asked mcpInitialize
	_ = json.Unmarshal(params, &asked) // malformed params get the newest version
	if !slices.Contains(mcpVersions, asked.ProtocolVersion) {
		asked.ProtocolVersion = mcpVersions[len(mcpVersions)-1]
	}
	return mcpServer{ProtocolVersion: asked.ProtocolVersion, ServerInfo: mcpIdentity{"ac", t.Version}}
}

func (t Toolbox) list() mcpTools {
	all := mcpTools{Tools: []mcpTool{}}
	for _, tool := range t.Tools {
		all.Tools = append(all.Tools, mcpTool{tool.Name, tool.Description, tool.params.Schema(), mcpHints{ReadOnly: true}})
	}
	return all
}

// use calls a tool. An error of the tool is a result that the agent reads and
// can react to; only an unknown tool is an error of the protocol.
func (t Toolbox) use(ctx context.Context, params []byte) (any, error) {
	var c mcpCall
	if err := json.Unmarshal(params, &c); err != nil {
		return nil, fault.InvalidField("arguments", "must be the name of a tool and its arguments")
	}
	at := slices.IndexFunc(t.Tools, func(tool Tool) bool { return tool.Name == c.Name })
	if at < 0 {
		return nil, fault.InvalidField("name", "there is no tool %s", c.Name)
	}
	text, err := t.Tools[at].call(ctx, c.Arguments)
	if err != nil {
		return mcpResult{[]mcpText{{"text", inFull(err)}}, true}, nil
	}
	return mcpResult{[]mcpText{{"text", text}}, false}, nil
}

func inFull(err error) string {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.InFull()
	}
	return err.Error()
}
