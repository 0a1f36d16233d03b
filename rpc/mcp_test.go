package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type echoed struct {
	_    struct{} `is:"strict"`
	Text string   `json:"text"`
}

// TestToolbox plays a conversation with an agent that sends valid and invalid
// requests. Only the end of its input ends the conversation.
func TestToolbox(t *testing.T) {
	t.Parallel()
	box := Toolbox{Version: "1", Tools: []Tool{NewTool("echo", "Say it.", func(_ context.Context, a echoed) (string, error) {
		if a.Text == "no" {
			return "", errors.New("it cannot be said")
		}
		return a.Text, nil
	})}}
	talk := [][2]string{
		{`{"jsonrpc":"2.0","id":0,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Unknown method: tools/list"}}`},
		{`{"jsonrpc":"2.0","id":"a","method":"server/discover","params":{}}`, `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"Unknown method: server/discover"}}`},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"ac","version":"1"}}}`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid Request"}}`},
		{`{not json`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
		{`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`},
		{`{"jsonrpc":"2.0","id":3,"method":"ping"}`, `{"jsonrpc":"2.0","id":3,"result":{}}`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{}}`, `{"jsonrpc":"2.0","id":4,"result":{"ttlMs":0,"cacheScope":"public","tools":[{"name":"echo","description":"Say it.","inputSchema":{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}}]}}`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":{"text":"<hi>"},"_meta":{"progressToken":1}}}`, `{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"<hi>"}]}}`},
		{`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"echo","arguments":{"text":"no"}}}`, `{"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"internal: it cannot be said"}],"isError":true}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":1,"more":2}}}`, `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"invalid_params: Invalid params: text: expected string, got number; unknown: more"}],"isError":true}}`},
		{`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"shout"}}`, `{"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"unknown tool \"shout\""}}`},
		{`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"invalid params"}}`},
	}
	var in, want strings.Builder
	for _, pair := range talk {
		in.WriteString(pair[0] + "\n")
		if pair[1] != "" {
			want.WriteString(pair[1] + "\n")
		}
	}
	var out bytes.Buffer
	if err := box.Serve(t.Context(), strings.NewReader(in.String()), &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sorted(want.String()), sorted(out.String())); diff != "" {
		t.Error(diff)
	}
	if err := box.Serve(t.Context(), strings.NewReader(talk[0][0]+"\n"), refusing{}); err == nil {
		t.Error("answers that nobody takes are no failure")
	}
}

// TestVersionsOfMCP checks that an agent with an unknown protocol version gets the newest one.
func TestVersionsOfMCP(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25", "2024-11-05": "2025-11-25", "2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "": "2025-11-25"} {
		var out bytes.Buffer
		in := `{"jsonrpc":"2.0","id":1.50,"method":"initialize","params":{"protocolVersion":"` + asked + `"}}` + "\n"
		if err := (Toolbox{}).Serve(t.Context(), strings.NewReader(in), &out); err != nil || !strings.Contains(out.String(), `"protocolVersion":"`+want+`"`) || !strings.HasPrefix(out.String(), `{"jsonrpc":"2.0","id":1.50,`) {
			t.Errorf("%s: %s %v", asked, &out, err)
		}
	}
}

// sorted sorts lines, and the members of their objects, because answers come in the order in
// which calls end.
func sorted(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		var message any
		if json.Unmarshal([]byte(line), &message) == nil {
			again, _ := json.Marshal(message) // a decoded value always encodes
			lines[i] = string(again)
		}
	}
	slices.Sort(lines)
	return lines
}

type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, errors.New("refused") }
