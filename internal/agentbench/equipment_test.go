//go:build agents

package agentbench

// The equipment of the real agents: a workspace's MCP servers, whose tools their models call,
// and its model profiles, which set their server, model, key and headers.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// toolSecret is the variable that makes the test binary an MCP server. The server's tool
// returns its value.
const toolSecret = "AC_BENCH_TOOL"

// toolCall is a message to an MCP server.
type toolCall struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Version string `json:"protocolVersion"`
	} `json:"params"`
}

// toolAnswer returns the answer of an MCP server with one tool, nil for a notification.
func toolAnswer(line []byte, says string) []byte {
	var m toolCall
	if json.Unmarshal(line, &m) != nil || len(m.ID) == 0 {
		return nil
	}
	var result object
	switch m.Method {
	case "initialize":
		result = object{"protocolVersion": m.Params.Version, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "bench", "version": "1"}}
	case "tools/list":
		result = object{"tools": []object{{"name": "look_up", "description": "Looks up the word of the day.", "inputSchema": object{"type": "object", "properties": object{}}}}}
	case "tools/call":
		result = object{"content": []object{{"type": "text", "text": says}}}
	default:
		result = object{}
	}
	text, _ := json.Marshal(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
	return text
}

// serveTool is an MCP server on stdin and stdout.
func serveTool(says string) int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	for in.Scan() {
		if answer := toolAnswer(in.Bytes(), says); answer != nil {
			fmt.Printf("%s\n", answer)
		}
	}
	return 0
}

// remoteTool starts an MCP server over HTTP for clients with a token, and returns its URL.
func remoteTool(t *testing.T, token, says string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			answer := toolAnswer(body, says)
			if answer == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// TestServersOfAWorkspace checks that each agent starts the workspace's local MCP server and
// reaches its remote one, with the variables and the token that the workspace stores for them.
func TestServersOfAWorkspace(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachLive(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			switch r.Step() {
			case 0:
				return Reply{Calls: []Call{toolOf(r, "local", "look_up", object{})}}
			case 1:
				return Reply{Calls: []Call{toolOf(r, "remote", "look_up", object{})}}
			}
			return Reply{Text: "done"}
		})
		c.call("mcp.server.put", object{"server_id": "local", "transport": "stdio", "command": self, "env": object{toolSecret: "word-of-the-program"}, "timeout_seconds": 60}, nil)
		c.call("mcp.server.put", object{"server_id": "remote", "transport": "http", "url": remoteTool(t, "token-of-the-bench", "word-of-the-address"), "auth_token": "token-of-the-bench", "timeout_seconds": 60}, nil)
		r := c.speak("What is the word?", object{"mode": "full_auto", "permission_level": "full"})
		p := r.end()
		heard := ""
		for _, r := range c.model.Requests() {
			heard += strings.Join(r.Results, "\n")
		}
		if p.Status != "ended" || !strings.Contains(heard, "word-of-the-program") || !strings.Contains(heard, "word-of-the-address") {
			t.Errorf("%+v\nthe model heard %.3000s\n%s", p, heard, r.log())
		}
		if strings.Contains(r.log(), "token-of-the-bench") {
			t.Error("the token of a server is in the log")
		}
	})
}

// TestModelProfiles checks that each agent uses the profile's server, model, key and headers.
// opencode gets them through environment variables that its own configuration names.
func TestModelProfiles(t *testing.T) {
	t.Parallel()
	models := map[string]object{
		"codex":    {"provider": "openai", "model": "gpt-6.1-sol"},
		"claude":   {"provider": "anthropic", "model": "claude-sonnet-4-5"},
		"gemini":   {"provider": "gemini", "model": "gemini-of-the-profile"},
		"opencode": {"provider": "acp", "model": "profile-model"},
	}
	eachLive(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, Steps(Usage{}, Reply{Text: "not by this server"}))
		gate, err := Start(Steps(Usage{}, Reply{Text: "by the profile"}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = gate.Close() })
		base := gate.URL
		if k.name == "codex" || k.name == "opencode" {
			base += "/v1"
		}
		profile := object{"name": "gate", "base_url": base, "api_key": "key-of-the-profile", "request_headers": object{"X-Team": "acme"}}
		for name, value := range models[k.name] {
			profile[name] = value
		}
		c.call("model.profile.put", profile, nil)
		if k.name == "opencode" {
			c.write(".config/opencode/opencode.json", `{"autoupdate":false,"model":"gate/{env:AC_MODEL}","provider":{"gate":{"npm":"@ai-sdk/openai-compatible","name":"gate",`+
				`"options":{"baseURL":"{env:AC_MODEL_BASE_URL}","apiKey":"{env:AC_MODEL_API_KEY}","headers":{"X-Team":"acme"}},`+
				`"models":{"{env:AC_MODEL}":{"name":"m","tool_call":true,"limit":{"context":1000000,"output":100000}}}}}}`)
		}
		r := c.speak("Who answers?", object{"model_profile": "gate"})
		if p := r.end(); p.Status != "ended" || r.last() != "by the profile" {
			t.Fatalf("%+v: %q\n%s", p, r.last(), r.log())
		}
		asked := gate.Requests()
		if len(asked) == 0 {
			t.Fatal("nobody asked the server of the profile")
		}
		for _, r := range asked {
			known := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
			if !strings.Contains(known, "key-of-the-profile") {
				t.Errorf("it asked as %q", known)
			}
			if r.Header.Get("X-Team") != "acme" {
				t.Errorf("the header of the profile: %q", r.Header.Get("X-Team"))
			}
		}
		if last := asked[len(asked)-1]; last.Model != models[k.name]["model"] {
			t.Errorf("it asked for model %q\n%s", last.Model, r.log())
		}
		for _, r := range c.model.Requests() {
			t.Errorf("it asked the other server: %.200s", r.Body)
		}
		if strings.Contains(r.log(), "key-of-the-profile") {
			t.Error("the key of the profile is in the log")
		}
	})
}
