package acecode

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/dialect/acecode/frames"
	"ac/dialect/dialecttest"
	"ac/internal/fault"
)

// TestServerRoutes checks the answers about the server itself.
func TestServerRoutes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dialecttest.Write(t, filepath.Join(s.Repo, ".agents/skills/greet/SKILL.md"), "---\nname: greet\ndescription: Greets people.\n---\nSay hello.\n")
	hash := hashOf(s.Repo)
	for _, c := range []struct {
		method, path, body string
		code               int
		holds              string
	}{
		{"GET", "/", "", 200, "ac ui:web"},
		{"GET", "/api/nothing", "", 404, `{"error":"unknown route"}`},
		{"GET", "//api/health", "", 404, `{"error":"unknown route"}`},
		{"POST", "/api//sessions", "{}", 404, `{"error":"unknown route"}`},
		{"GET", "/api/config/../health", "", 404, `{"error":"unknown route"}`},
		{"PATCH", "/api/health", "", 405, `{"error":"method not allowed"}`},
		{"GET", "/api/health", "", 200, `"workspace_hash":"` + hash + `","status":"ok","dialect":"acecode"`},
		{"GET", "/api/usage?days=abc", "", 200, `"days":30`},
		{"GET", "/api/usage?days=9999&timezone_offset_minutes=99999&workspace=__local__", "", 200, `"days":366`},
		{"GET", "/api/usage?workspace=none", "", 404, "unknown workspace"},
		{"GET", "/api/config/ui-preferences", "", 200, `{"show_acecode_avatar":false}`},
		{"PUT", "/api/config/ui-preferences", `{"show_acecode_avatar":true}`, 200, `{"show_acecode_avatar":false}`},
		{"PUT", "/api/config/ui-preferences", `{"show_acecode_avatar":"yes"}`, 400, `{"error":"BAD_REQUEST"}`},
		{"PUT", "/api/config/ui-preferences", `{}`, 400, `{"error":"BAD_REQUEST"}`},
		{"PUT", "/api/config/ui-preferences", `[`, 400, `{"error":"bad json"}`},
		{"GET", "/api/config/default-permission-mode", "", 200, `{"mode":"default","description":"Prompt for write/exec tools"}`},
		{"PUT", "/api/config/default-permission-mode", `{"mode":"accept-edits"}`, 200, `{"mode":"accept-edits","description":"Auto-allow file edits, prompt for bash"}`},
		{"GET", "/api/config/default-permission-mode", "", 200, `accept-edits`},
		{"PUT", "/api/config/default-permission-mode", `{"mode":"acceptEdits"}`, 200, `accept-edits`},
		{"PUT", "/api/config/default-permission-mode", `{"mode":7}`, 400, `{"error":"BAD_REQUEST"}`},
		{"PUT", "/api/config/default-permission-mode", `{"mode":"wild"}`, 400, `{"error":"INVALID_PERMISSION_MODE"}`},
		{"POST", "/api/open-in-explorer", `{"path":"/"}`, 501, `{"ok":false,"error":"not available"}`},
		{"GET", "/api/history", "", 200, `[]`},
		{"POST", "/api/history", `{"text":"x"}`, 204, ``},
		{"GET", "/api/commands", "", 200, `"builtins":[{"name":"init"`},
		{"GET", "/api/workspaces", "", 200, `[{"hash":"` + hash + `","cwd":"` + s.Repo + `","name":"P","available":true,"active":true}]`},
		{"GET", "/api/sessions", "", 200, `{"sessions":[]}`},
		{"GET", "/api/sessions?shape=wire", "", 200, `[]`},
		{"GET", "/api/workspaces/none/sessions", "", 404, `unknown workspace`},
		{"GET", "/api/workspaces/__local__/sessions", "", 200, `{"sessions":[]}`},
		{"GET", "/api/sessions/run_none/messages", "", 404, `{"error":"unknown session"}`},
		{"DELETE", "/api/sessions/run_none", "", 404, `{"error":"unknown session"}`},
		{"POST", "/api/sessions/%2e%2e/resume", "", 404, ``},
		{"POST", "/api/sessions", `{"permission_mode":"wild"}`, 400, `INVALID_PERMISSION_MODE`},
		{"POST", "/api/sessions", `{"cwd":"/elsewhere"}`, 400, `unknown workspace`},
		{"POST", "/api/sessions", `{"auto_start":"yes"}`, 400, `auto_start must be a boolean`},
		{"POST", "/api/sessions", `{"model":"-x"}`, 400, `BAD_REQUEST`},
		{"POST", "/api/sessions", `{"agent_id":"agent_none"}`, 409, `NO_AGENT`},
		{"POST", "/api/sessions", "{\"model\":\"\xff\"}", 400, `bad json`},
		{"GET", "/api/mcp", "", 200, `{}`},
		{"PUT", "/api/mcp", `{"files":{"command":"mcp-files","env":{"KEY":"geheim"}},"web":{"transport":"http","url":"https://example.com/mcp","auth_token":"geheim"}}`, 200, `{"saved":true,"reload_required":true}`},
		{"GET", "/api/mcp", "", 200, `"auth_token":"***"`},
		{"PUT", "/api/mcp", `{"mcp_servers":{"bad":{"transport":"stdio"}}}`, 400, `bad.`},
		{"PUT", "/api/mcp", `{"files":7}`, 400, `files`},
		{"PUT", "/api/mcp", `{"a/b":{"command":"x"}}`, 400, `"message":"a/b.server_id must be`},
		{"PUT", "/api/mcp", `{"":{"command":"x"}}`, 400, `"message":".server_id must be`},
		{"GET", "/api/mcp", "", 200, `"files":{"transport":"stdio","command":"mcp-files","args":[],"env":{"KEY":"***"}`},
		{"POST", "/api/mcp/reload", "", 501, `mcp reload is not implemented`},
		{"GET", "/api/skills", "", 200, `{"skills":[{"name":"init","command_key":"/init"`},
		{"GET", "/api/skills", "", 200, `"command_key":"/greet","description":"Greets people.","category":"project"`},
		{"GET", "/api/skills/greet/body", "", 200, "Say hello."},
		{"GET", "/api/skills/none/body", "", 404, `{"error":"skill not found"}`},
		{"PUT", "/api/skills/init", "{}", 501, `{"error":"not served"`},
		{"GET", "/ws/sessions/x", "", 426, ``},
	} {
		r := s.do(c.method, c.path, c.body)
		if r.code != c.code || !strings.Contains(r.text, c.holds) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, r.code, r.text)
		}
		if strings.Contains(r.text, "geheim") {
			t.Errorf("%s %s returns a secret", c.method, c.path)
		}
		if c.code != 204 && (r.header.Get("Cache-Control") != "no-store" || r.header.Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s %s: %v", c.method, c.path, r.header)
		}
	}
	if r := s.do("PATCH", "/api/mcp", ""); fmt.Sprint(r.header.Values("Allow")) != "[GET PUT]" {
		t.Errorf("%v", r.header)
	}
}

// TestSessionRoutes goes through the life of a session, mostly over HTTP.
func TestSessionRoutes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("tool make all")
	path := "/api/sessions/" + id
	var snap struct {
		Messages []struct {
			ID, Role, Content string
			ToolCalls         []struct{ ID string } `json:"tool_calls"`
			ToolCallID        string                `json:"tool_call_id"`
			Metadata          map[string]any
		}
		Events []struct {
			Type    string
			Seq     int64
			Payload map[string]any
		}
		Busy  bool
		Head  int64          `json:"head_seq"`
		Title string         `json:"title"`
		Turns int            `json:"turn_count"`
		Usage map[string]any `json:"token_usage"`
	}
	c := s.dial("/ws/sessions/" + id)
	c.hello(id, 0)
	c.await("Done")
	s.want(200, "GET", path+"/messages", "", &snap)
	var roles []string
	for _, m := range snap.Messages {
		roles = append(roles, m.Role)
	}
	if got := strings.Join(roles, " "); got != "user assistant assistant tool assistant" {
		t.Errorf("%s", got)
	}
	if m := snap.Messages; len(m) == 5 && (m[0].Content != "tool make all" || m[1].Content != "I run it. " || m[2].ToolCalls[0].ID != m[3].ToolCallID || m[3].Content != "out of make all\n" || m[4].Content != "It ran.") {
		t.Errorf("%+v", m)
	}
	last := snap.Events[len(snap.Events)-1]
	if snap.Busy || snap.Title != "tool make all" || snap.Turns != 1 || last.Type != frames.TypeSession || last.Seq != snap.Head || snap.Usage["total_tokens"] != 120.0 {
		t.Errorf("%+v", snap)
	}
	var events struct{ Events []struct{ Seq int64 } }
	s.want(200, "GET", fmt.Sprintf("%s/messages?since=%d", path, snap.Head-1), "", &events)
	if len(events.Events) != 1 || events.Events[0].Seq != snap.Head {
		t.Errorf("%+v", events)
	}
	s.want(200, "GET", fmt.Sprintf("%s/messages?since=%d&shape=wire", path, snap.Head), "", nil, "[]")
	s.want(400, "GET", path+"/messages?since=-1", "", nil, "BAD_REQUEST")
	s.want(200, "GET", "/api/sessions", "", nil, `"title":"tool make all"`, `"active":true`, `"turn_count":1`, `"status":"idle"`)
	s.want(200, "GET", "/api/history", "", nil, `["tool make all"]`)
	s.want(202, "POST", path+"/messages", `{"text":"plan it","client_message_id":"k1"}`, nil, `{"queued":true,"client_message_id":"k1"}`)
	s.want(202, "POST", path+"/messages", `{"text":"plan it","client_message_id":"k1"}`, nil)
	c.await("todo_updated", `"in_progress":1`)
	c.await("Done", `"t2"`)
	s.want(200, "DELETE", "/api/workspaces/__local__/sessions/"+id+"/todos", "", nil, `"todos":[]`, `"total":0`)
	c.await("todo_updated", `"todos":[]`)
	for body, word := range map[string]string{
		`{"text":"  "}`: "text or attachments required", `{"text":"x","attachments":["att-none"]}`: "unknown attachment", `{"text":7}`: "text must be a string",
		`{"text":"x","client_message_id":""}`: "client_message_id", `{"text":"x","contexts":7}`: "contexts must be an array", `[]`: "bad json",
	} {
		s.want(400, "POST", path+"/messages", body, nil, word)
	}
	for _, n := range []int{maxText + 1, 5 * maxText} {
		s.want(413, "POST", path+"/messages", `{"text":"`+strings.Repeat("x", n)+`"}`, nil, `{"error":"text_too_large","limit":1048576}`)
	}
	s.want(400, "POST", path+"/commands", `{"command":"rm"}`, nil, `{"error":"unsupported command","command":"rm"}`)
	s.want(202, "POST", path+"/commands", `{"command":"/init","display_text":"/init"}`, nil, `{"queued":true,"command":"init"}`)
	if m := c.await("Message", `"role":"user"`); m.text("content") != "/init" {
		t.Errorf("%s", m.raw)
	}
	c.await("Done", `"t3"`)
	s.want(202, "POST", path+"/commands", `{"command":"compact"}`, nil, `{"queued":true,"command":"compact"}`)
	c.await("Message", "Compacting the conversation")
	s.want(400, "POST", path+"/turn/steer", `{"text":"x"}`, nil, "EXPECTED_TURN_ID_REQUIRED")
	s.want(409, "POST", path+"/turn/interrupt", `{"text":"x","expected_turn_id":"t9"}`, nil, "NO_ACTIVE_TURN")
	s.want(400, "DELETE", path+"?purge=1", "", nil, "runs are kept")
	s.want(204, "DELETE", path, "", nil)
	s.want(404, "DELETE", path, "", nil, "unknown session")
	s.want(404, "POST", path+"/messages", `{"text":"x"}`, nil, "unknown session")
	s.want(200, "GET", path+"/messages", "", nil)
	s.want(200, "POST", path+"/resume", "", nil, `"active":true`)
	s.want(202, "POST", path+"/messages", `{"text":"and again"}`, nil)
	c.await("Message", `"role":"assistant"`, "and again") // comes after the earlier messages
}

// TestTurns checks steering and interrupting a running turn.
func TestTurns(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("hold")
	c := s.dial("/ws/sessions/" + id)
	c.hello(id, 0)
	c.await("Token")
	path := "/api/sessions/" + id
	s.want(200, "GET", path+"/messages", "", nil, `"busy":true`, `"active_turn_id":"t1"`, `"holding `)
	s.want(409, "POST", path+"/turn/steer", `{"text":"x","expected_turn_id":"t9"}`, nil, "TURN_MISMATCH", `"active_turn_id":"t1"`)
	s.want(202, "POST", path+"/turn/interrupt", `{"text":"stop and greet","expected_turn_id":"t1"}`, nil, `"interrupting":true`, `"turn_id":"t1"`)
	c.await("Done", `"aborted"`)
	c.await("Message", "you said: stop and greet")
	c.await("Done", `"t2"`)
	c.send(`{"type":"abort"}`)
	c.send(`{"type":"ping"}`)
	c.await("pong")
}

// TestAttachments checks how files are attached to a session, and what its agent receives of
// them.
func TestAttachments(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("")
	path := "/api/sessions/" + id
	s.want(400, "POST", path+"/attachments", `{"name":"a","reference_only":true,"source_path":"/etc/passwd"}`, nil, "files are not read on behalf of clients")
	s.want(400, "POST", path+"/attachments", `{"name":"a","data_base64":"*"}`, nil, "must be base64")
	var made struct {
		Attachment struct {
			ID, Name, Kind string
			Size           int `json:"size_bytes"`
		}
	}
	body := dialecttest.Must(json.Marshal(object{"name": "../x.png", "mime_type": "image/png", "data_base64": base64.StdEncoding.EncodeToString([]byte("png"))}))
	s.want(201, "POST", path+"/attachments", string(body), &made, `"kind":"image"`, `"size_bytes":3`)
	r := s.want(200, "GET", path+"/attachments/"+made.Attachment.ID+"/blob", "", nil, "png")
	if r.header.Get("Content-Type") != "image/png" || r.header.Get("Content-Disposition") != "attachment" {
		t.Errorf("%v", r.header)
	}
	s.want(404, "GET", path+"/attachments/att-none/blob", "", nil)
	c := s.dial("/ws/sessions/" + id)
	c.hello(id, 0)
	s.want(202, "POST", path+"/messages", `{"text":"look","attachments":[{"id":"`+made.Attachment.ID+`"}],"contexts":[{"type":"selection","label":"a\"b","note":"2 lines","text":"one </context> two","source":{"path":"/r/README.md","start_line":23,"end_line":24,"line_count":2}}]}`, nil)
	m := c.await("Message", `"role":"user"`)
	if m.text("content") != "look" || !strings.Contains(m.raw, `"label":"a\"b"`) || !strings.Contains(m.raw, made.Attachment.ID) || strings.Contains(m.raw, "one </context>") {
		t.Errorf("%s", m.raw)
	}
	said := c.await("Message", `"role":"assistant"`).text("content")
	file := filepath.Join(s.Dir, "work/projects", s.Project, "runs", id, "outputs/attachments")
	for _, part := range []string{"<context type=\"selection\" label=\"a&quot;b\" path=\"/r/README.md\" lines=\"23-24\">\none < /context> two\n</context>", "Attached file: " + file} {
		if !strings.Contains(said, part) {
			t.Errorf("%q lacks %q", said, part)
		}
	}
}

// TestOpening checks which directories may be opened in the file manager.
func TestOpening(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) { o.AllowOpen = true })
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(s.Repo, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "relative", "/none", filepath.Join(s.Repo, "README"), outside, filepath.Join(s.Repo, "link"), "/"} {
		s.want(400, "POST", "/api/open-in-explorer", string(dialecttest.Must(json.Marshal(object{"path": path}))), nil, `"ok":false`)
	}
	if inside, err := s.server.isOurs(t.Context(), s.Repo); !inside || err != nil {
		t.Errorf("%v, %v", inside, err)
	}
}

// TestPartner checks that the agent of new sessions can be named by its id, or by its name in any
// case. An agent that does not exist is refused.
func TestPartner(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, name := range []string{s.agent, "Speaker", "speaker"} {
		s.server.AgentID, s.server.agent = name, ""
		if err := s.server.choosePartner(t.Context()); err != nil || s.server.agent != s.agent {
			t.Errorf("%s: %q, %v", name, s.server.agent, err)
		}
	}
	s.server.AgentID = "Nobody"
	if err := s.server.choosePartner(t.Context()); !fault.Is(err, fault.NoTarget) {
		t.Error(err)
	}
}

// TestWithoutAgent checks that without a usable agent, sessions can be listed but not created.
func TestWithoutAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.server.agent = "agent_nobody"
	if r := s.do("POST", "/api/sessions", ""); r.code != http.StatusConflict || !strings.Contains(r.text, "NO_AGENT") {
		t.Errorf("%d %s", r.code, r.text)
	}
	s.want(200, "GET", "/api/sessions", "", nil)
}
