package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ac/internal/fault"
)

type sum struct {
	Sum int `json:"sum"`
}

type addends struct {
	_ struct{} `is:"strict"`
	A int      `json:"a"`
	B int      `json:"b" is:"default=1"`
}

// agentTalk is an agent that exchanges lines with a toolbox.
type agentTalk struct {
	t     *testing.T
	in    *io.PipeWriter
	lines *bufio.Scanner
	ended chan error
}

func serveAgent(ctx context.Context, t *testing.T, box Toolbox) *agentTalk {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	a := &agentTalk{t: t, in: toServer, lines: bufio.NewScanner(fromServer), ended: make(chan error, 1)}
	go func() {
		err := box.Serve(ctx, in, out)
		_ = out.Close()
		a.ended <- err
	}()
	t.Cleanup(func() { _ = toServer.Close() })
	a.say(`{"jsonrpc":"2.0","id":"hi","method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	a.hear(`"id":"hi"`)
	return a
}

func (a *agentTalk) say(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Fatal(err)
	}
}

func (a *agentTalk) hear(want string) string {
	a.t.Helper()
	if !a.lines.Scan() || !strings.Contains(a.lines.Text(), want) {
		a.t.Fatalf("heard %s, want %s", a.lines.Text(), want)
	}
	return a.lines.Text()
}

func use(id any, tool string, arguments string) string {
	text, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":"p%s"}}}`, text, tool, arguments, strings.Trim(string(text), `"`))
}

// TestToolsSideBySide checks that a waiting call blocks no other one, reports its
// progress, and ends when the agent cancels it.
func TestToolsSideBySide(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	box := Toolbox{Tools: []Tool{
		NewTool("wait", "", func(ctx context.Context, _ addends) (sum, error) {
			Progress(ctx, "begun")
			<-ctx.Done()
			Progress(ctx, "never heard")
			ended <- ctx.Err()
			return sum{}, nil
		}),
		NewTool("add", "", func(_ context.Context, a addends) (sum, error) { return sum{a.A + a.B}, nil }),
	}}
	a := serveAgent(t.Context(), t, box)
	a.say(use("w", "wait", `{"a":1}`))
	a.hear(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"pw","message":"begun","progress":1}}`)
	a.say(use(7, "add", `{"a":2}`))
	a.hear(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}}`)
	a.say(use("w", "add", `{"a":2}`))
	a.hear(`"text":"rate_limited: `) // its id is in use
	a.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`)
	a.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`)
	a.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w","reason":"enough"}}`)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	a.say(use(8, "add", `{"a":3,"b":4}`))
	a.hear(`"id":8,"result"`)
	_ = a.in.Close()
	if err := <-a.ended; err != nil || a.lines.Scan() {
		t.Errorf("%v, and %q", err, a.lines.Text())
	}
}

func TestToolsAreBounded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	box := Toolbox{Tools: []Tool{NewTool("wait", "", func(ctx context.Context, _ addends) (string, error) {
		<-ctx.Done()
		return "", nil
	})}}
	a := serveAgent(ctx, t, box)
	for i := range maxToolCalls {
		a.say(use(i, "wait", `{"a":1}`))
	}
	a.say(use("more", "wait", `{"a":1}`))
	a.hear(`"id":"more","result":{"content":[{"type":"text","text":"rate_limited: `)
	cancel() // though the input stays open
	if err := <-a.ended; err != nil {
		t.Error(err)
	}
}

// TestToolsGoOnForAMoment checks that a pending call runs on for toolGrace after the end of
// the input, and is then canceled.
func TestToolsGoOnForAMoment(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	var stopped error
	box := Toolbox{Tools: []Tool{NewTool("wait", "", func(ctx context.Context, _ addends) (string, error) {
		close(begun)
		<-ctx.Done()
		stopped = ctx.Err()
		return "late", nil
	})}}
	a := serveAgent(t.Context(), t, box)
	a.say(use(1, "wait", `{"a":1}`))
	<-begun
	began := time.Now()
	_ = a.in.Close()
	if err := <-a.ended; err != nil || stopped == nil {
		t.Errorf("%v %v", err, stopped)
	}
	if took := time.Since(began); took < toolGrace {
		t.Errorf("the call was called off after %s", took)
	}
}

func TestToolsThatFail(t *testing.T) {
	t.Parallel()
	box := Toolbox{
		Tools: []Tool{
			NewTool("panic", "", func(context.Context, addends) (sum, error) { panic("oh") }),
			NewTool("refuse", "", func(context.Context, addends) (sum, error) {
				return sum{}, fault.New(fault.Denied, "it is forbidden")
			}),
			NewTool("encode", "", func(context.Context, addends) (any, error) { return func() {}, nil }),
			NewTool("add", "", func(_ context.Context, a addends) (sum, error) { return sum{a.A + a.B}, nil }),
		},
		Admit: func(ctx context.Context, arguments json.RawMessage) (context.Context, json.RawMessage, error) {
			if string(arguments) == `{"a":0}` {
				return ctx, nil, fault.New(fault.RateLimited, "too many")
			}
			return ctx, json.RawMessage(strings.ReplaceAll(string(arguments), "41", "42")), nil
		},
	}
	a := serveAgent(t.Context(), t, box)
	for _, c := range []struct{ tool, arguments, want string }{
		{"panic", `{"a":1}`, `"text":"internal: panic met an internal fault: oh"}],"isError":true`},
		{"refuse", `{"a":1}`, `"text":"denied: it is forbidden"}],"isError":true`},
		{"encode", `{"a":1}`, `"text":"internal: `},
		{"add", `{"a":0}`, `"text":"rate_limited: too many"}],"isError":true`},
		{"add", `{"a":41}`, `"structuredContent":{"sum":43}`},
		{"add", `{"b":1}`, `"text":"invalid_params: Invalid params: a: expected integer, got nothing"`},
	} {
		a.say(use(1, c.tool, c.arguments))
		a.hear(c.want)
	}
}

// TestToolboxWithTheSDK runs the official SDK's client against a toolbox.
func TestToolboxWithTheSDK(t *testing.T) {
	t.Parallel()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	box := Toolbox{Version: "3", Tools: []Tool{Acting(NewTool("add", "Add.", func(ctx context.Context, a addends) (sum, error) {
		Progress(ctx, "adding")
		return sum{a.A + a.B}, nil
	}))}}
	served := make(chan error, 1)
	go func() {
		served <- box.Serve(t.Context(), in, out)
		_ = out.Close()
	}()
	heard := make(chan string, 1)
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { heard <- r.Params.Message },
	})
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1 || list.Tools[0].Annotations.ReadOnlyHint {
		t.Errorf("%+v %v", list, err)
	}
	params := &sdk.CallToolParams{Name: "add", Arguments: map[string]any{"a": 2, "b": 3}}
	params.SetProgressToken("token")
	result, err := session.CallTool(t.Context(), params)
	if err != nil || result.IsError || fmt.Sprint(result.StructuredContent) != "map[sum:5]" || <-heard != "adding" {
		t.Errorf("%+v %v", result, err)
	}
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "shout"}); err == nil {
		t.Error("an unknown tool was called")
	}
	_ = session.Close()
	_ = toServer.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
