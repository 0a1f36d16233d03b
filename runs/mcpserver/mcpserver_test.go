package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/internal/fault"
	"ac/runs/agent"
	"ac/runs/mcpserver"
	"ac/workspace/doc"
)

func change(t *testing.T, text string) (c mcpserver.Change) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// kept returns a machine with one stored server, and its secrets.
func kept(t *testing.T, text string) (machine doc.Machine, secrets doc.Secrets) {
	t.Helper()
	c := change(t, text)
	s, err := c.Apply(nil, doc.MCPSecrets{})
	if err != nil {
		t.Fatal(err)
	}
	mcpserver.Put(&machine, &secrets, c.ID, s)
	return machine, secrets
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"server_id":"a/b","transport":"stdio","command":"x"}`:     "a/b.server_id must be",
		`{"server_id":"ac","transport":"stdio","command":"x"}`:      "ac.server_id is taken",
		`{"server_id":"AC","transport":"stdio","command":"x"}`:      "AC.server_id is taken",
		`{"server_id":"ac__who","transport":"stdio","command":"x"}`: "ac__who.server_id is taken",
		`{"server_id":"ac..who","transport":"stdio","command":"x"}`: "ac..who.server_id is taken",
		`{"server_id":"s"}`: "s.transport must be",
		`{"server_id":"s","transport":"pipe","command":"x"}`:                                            "s.transport must be",
		`{"server_id":"s","transport":"stdio"}`:                                                         "s.command is needed",
		`{"server_id":"s","transport":"stdio","command":"x","url":"http://h"}`:                          "s.url does not go",
		`{"server_id":"s","transport":"stdio","command":"x","args":["--api-key=abcdefgh1234"]}`:         "s.args seem to hold a secret",
		`{"server_id":"s","transport":"stdio","command":"x","args":["a\u0000b"]}`:                       "s.args must be words",
		`{"server_id":"s","transport":"stdio","command":"x","env":{"A-B":"c"}}`:                         `s.env must not have the name "A-B"`,
		`{"server_id":"s","transport":"stdio","command":"x","env":{"A":"c\nd"}}`:                        "s.env A must have a value",
		`{"server_id":"s","transport":"stdio","command":"x","env":{"A":"***"}}`:                         `s.env "A" has no value`,
		`{"server_id":"s","transport":"stdio","command":"x","timeout_seconds":0}`:                       "s.timeout_seconds must be",
		`{"server_id":"s","transport":"http","url":"ftp://h"}`:                                          "s.url must be an http",
		`{"server_id":"s","transport":"http","url":"http://u:longpassword@h/"}`:                         "s.url must not hold a secret",
		`{"server_id":"s","transport":"http","url":"http://h/?api_key=abc"}`:                            "s.url must not hold a secret",
		`{"server_id":"s","transport":"sse","url":"http://h","command":"x"}`:                            "s.command goes with",
		`{"server_id":"s","transport":"http","url":"http://h","headers":{"content-type":"x"}}`:          "s.headers must not name Content-Type",
		`{"server_id":"s","transport":"http","url":"http://h","headers":{"X-A":"1","x-a":"2"}}`:         "s.headers must have x-a once",
		`{"server_id":"s","transport":"http","url":"http://h","auth_token":"***"}`:                      "s.auth_token has no value",
		`{"server_id":"s","transport":"http","url":"http://h","headers":{"X":"` + long(8<<10+1) + `"}}`: "s.headers X must have a value",
	} {
		_, err := change(t, text).Apply(nil, doc.MCPSecrets{})
		if !fault.Is(err, fault.MCPInvalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.100s: %v, want %s", text, err, want)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

// TestNothingIsShown checks that only values that name a variable are shown and stored in
// machine.yaml.
func TestNothingIsShown(t *testing.T) {
	t.Parallel()
	machine, secrets := kept(t, `{"server_id":"web","transport":"http","url":"https://h/mcp","auth_token":"tok-secret-1",
		"headers":{"X-Plain":"plain-secret-2","X-Key":"{env:KEY}","X-Both":"Bearer {env:KEY}"}}`)
	shown, err := json.Marshal([]any{mcpserver.ServerOf("web", machine.MCPServers["web"]), machine})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"tok-secret-1", "plain-secret-2", "Bearer"} {
		if strings.Contains(string(shown), secret) {
			t.Errorf("%s is shown: %s", secret, shown)
		}
	}
	want := doc.MCPSecrets{AuthToken: "tok-secret-1", Headers: map[string]string{"X-Plain": "plain-secret-2", "X-Both": "Bearer {env:KEY}"}}
	if diff := cmp.Diff(want, secrets.MCPServers["web"]); diff != "" {
		t.Error(diff)
	}
	if got := machine.MCPServers["web"].Headers["X-Key"]; got != "{env:KEY}" {
		t.Errorf("the variable is not named: %s", got)
	}
	// Values written into machine.yaml by hand are hidden as well.
	if s := mcpserver.ServerOf("x", doc.MCPServer{AuthToken: "by hand", Env: map[string]string{"A": "b"}}); s.AuthToken != doc.Hidden || s.Env["A"] != doc.Hidden {
		t.Errorf("%+v", s)
	}
}

// TestChanges checks that omitted fields stay, *** keeps a value, an empty value clears it, and
// another transport starts from scratch.
func TestChanges(t *testing.T) {
	t.Parallel()
	machine, secrets := kept(t, `{"server_id":"s","transport":"stdio","command":"run","args":["a"],"env":{"A":"one","B":"two"},"timeout_seconds":5}`)
	old, hidden := machine.MCPServers["s"], secrets.MCPServers["s"]
	for text, want := range map[string]doc.MCPServer{
		`{"server_id":"s","enabled":false}`:                               {Transport: "stdio", Command: "run", Args: []string{"a"}, Env: map[string]string{"A": "one", "B": "two"}, TimeoutSeconds: 5},
		`{"server_id":"s","env":{"A":"***","C":"three"}}`:                 {Transport: "stdio", Command: "run", Args: []string{"a"}, Env: map[string]string{"A": "one", "C": "three"}, TimeoutSeconds: 5, Enabled: true},
		`{"server_id":"s","env":{},"args":[]}`:                            {Transport: "stdio", Command: "run", TimeoutSeconds: 5, Enabled: true},
		`{"server_id":"s","transport":"http","url":"http://127.0.0.1:1"}`: {Transport: "http", URL: "http://127.0.0.1:1", TimeoutSeconds: 5, Enabled: true},
	} {
		got, err := change(t, text).Apply(&old, hidden)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	anew, err := change(t, `{"server_id":"s","transport":"stdio","command":"run","env":{"B":"***"}}`).Anew(machine, secrets)
	want := doc.MCPServer{Transport: "stdio", Command: "run", Env: map[string]string{"B": "two"}, TimeoutSeconds: 30, Enabled: true}
	if diff := cmp.Diff(want, anew); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestHandingOver(t *testing.T) {
	t.Parallel()
	machine, secrets := kept(t, `{"server_id":"web","transport":"http","url":"https://h/mcp","auth_token":"{env:TOKEN}","headers":{"X-Api-Key":"key-of-web","X-Mode":"fast"}}`)
	for _, text := range []string{
		`{"server_id":"tool.s","transport":"stdio","command":"run","args":["a"],"env":{"SECRET":"sec-of-tool","LEVEL":"{env:LEVEL}"}}`,
		`{"server_id":"stream","transport":"sse","url":"https://h/sse","headers":{"Authorization":"Basic abcdefghij"},"auth_token":"unused-token"}`,
		`{"server_id":"off","transport":"stdio","command":"run","env":{"A":"{env:MISSING}"},"enabled":false}`,
	} {
		c := change(t, text)
		s, err := c.Apply(nil, doc.MCPSecrets{})
		if err != nil {
			t.Fatal(err)
		}
		mcpserver.Put(&machine, &secrets, c.ID, s)
	}
	environ := map[string]string{"TOKEN": "token-of-web", "LEVEL": "debug"}
	lookup := func(name string) string { return environ[name] }
	h, err := mcpserver.For(doc.LiveClaude, machine, secrets, lookup)
	if err != nil {
		t.Fatal(err)
	}
	want := []agent.Server{
		{Name: "stream", Transport: "sse", URL: "https://h/sse", Headers: map[string]string{"Authorization": "Basic abcdefghij"}, TimeoutSeconds: 30},
		{Name: "tool.s", Command: "run", Args: []string{"a"}, Env: map[string]string{"SECRET": "sec-of-tool", "LEVEL": "debug"}, TimeoutSeconds: 30},
		{Name: "web", Transport: "http", URL: "https://h/mcp", Headers: map[string]string{"Authorization": "Bearer token-of-web", "X-Api-Key": "key-of-web", "X-Mode": "fast"}, TimeoutSeconds: 30},
	}
	if diff := cmp.Diff(want, h.Servers); diff != "" {
		t.Error(diff)
	}
	secret := strings.Join(h.Secrets, " ")
	for _, value := range []string{"sec-of-tool", "token-of-web", "key-of-web", "abcdefghij"} {
		if !strings.Contains(secret, value) {
			t.Errorf("%s is not known as a secret: %v", value, h.Secrets)
		}
	}
	for _, value := range []string{"fast", "debug"} {
		if strings.Contains(secret, value) {
			t.Errorf("%s is no secret", value)
		}
	}
	if h, err := mcpserver.For(doc.LiveCodex, machine, secrets, lookup); err != nil || len(h.Servers) != 1 || h.Servers[0].Name != "web" {
		t.Errorf("codex takes no sse and no name with a dot: %+v %v", h.Servers, err)
	}
	if h, err := mcpserver.For(doc.LiveCommand, machine, secrets, lookup); err != nil || h.Servers != nil {
		t.Errorf("a command line has none: %+v %v", h.Servers, err)
	}
	delete(environ, "TOKEN")
	if _, err := mcpserver.For(doc.LiveACP, machine, secrets, lookup); !fault.Is(err, fault.EnvMissing) || !strings.Contains(err.Error(), "TOKEN") {
		t.Error(err)
	}
	mcpserver.Remove(&machine, &secrets, "web")
	if _, known := secrets.MCPServers["web"]; known {
		t.Error("the secrets of a removed server are kept")
	}
}
