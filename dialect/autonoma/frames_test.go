package autonoma

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ac/dialect/dialecttest"

	"github.com/coder/websocket"

	"ac/internal/param"
	"ac/internal/shape"
)

// TestFrames checks the answers to requests as clients write them, byte for byte.
func TestFrames(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	agents := fmt.Sprintf(`[{"id":%q,"name":"Coder","description":"worker (cmd)","status":"available"}]`, s.agent)
	c.do("agents.list", nil, nil)
	for i, row := range [][2]string{
		// Missing params, in four ways; members in any order; ids of several forms.
		{`{"params":[],"method":"agents.list","id":"req_1"}`, `{"id":"req_1","result":` + agents + `}`},
		{`{"id":"req_1","method":"agents.list","params":null}`, `{"id":"req_1","result":` + agents + `}`},
		{`{"id":"req_1","method":"agents.list","params":{}}`, `{"id":"req_1","result":` + agents + `}`},
		{`{"id":"req_1","method":"agents.list"}`, `{"id":"req_1","result":` + agents + `}`},
		{` {"jsonrpc":"2.0","id":17,"method":"background.list","params":{"unknown":{}},"more":[]} `, `{"id":17,"result":[]}`},
		{`{"id":-1.5e3,"method":"workflows.list","params":{"domain":null}}`, `{"id":-1.5e3,"result":[]}`},
		{`{"id":"a","id":"\u00e9","method":"background.list"}`, `{"id":"\u00e9","result":[]}`},
		// Errors are strings, and exclude a result.
		{`{"id":1,"method":"nothing.such"}`, `{"id":1,"error":"unknown method: nothing.such"}`},
		{`{"id":1,"method":""}`, `{"id":1,"error":"unknown method: "}`},
		{`{"id":1,"method":"agents.list","params":"x"}`, `{"id":1,"error":"invalid params: must be an object"}`},
		{`{"id":1,"method":"agents.list","params":[1]}`, `{"id":1,"error":"invalid params: must be an object"}`},
		{`{"id":1,"method":"agents.invoke","params":{"task":7}}`, `{"id":1,"error":"invalid params: agentType: expected string, got nothing; task: expected string, got number"}`},
		{`{"id":1,"method":"agents.invoke","params":{"agentType":"Coder","task":" \n "}}`, `{"id":1,"error":"invalid params: task: must not be empty"}`},
		{`{"id":1,"method":"agents.invoke","params":{"agentType":"Coder","task":""}}`, `{"id":1,"error":"invalid params: task: must not be empty"}`},
		{`{"id":1,"method":"background.launch","params":{"agentType":"Coder","task":"` + strings.Repeat("x", 65537) + `"}}`, `{"id":1,"error":"invalid params: task: must not be longer than 65536 bytes"}`},
		{`{"id":1,"method":"agents.invoke","params":{"agentType":"coder-ai","task":"x"}}`, `{"id":1,"error":"unknown agent: coder-ai; known: Coder"}`},
		{`{"id":1,"method":"code.review","params":{"code":"x","reviewType":"style"}}`, `{"id":1,"error":"invalid params: reviewType: must be one of security, performance, quality, all"}`},
		{`{"id":1,"method":"execution.status","params":{"executionId":"../x"}}`, `{"id":1,"error":"unknown execution: ../x"}`},
		{`{"id":1,"method":"execution.status","params":{"executionId":"job_none"}}`, `{"id":1,"error":"unknown execution: job_none"}`},
		{`{"id":1,"method":"background.output","params":{"taskId":"job_none"}}`, `{"id":1,"error":"unknown task: job_none"}`},
		{`{"id":1,"method":"background.cancel","params":{"taskId":"a/b"}}`, `{"id":1,"error":"unknown task: a/b"}`},
		{`{"id":1,"method":"workflows.run","params":{"workflowId":"a:b"}}`, `{"id":1,"error":"unknown workflow: a:b"}`},
		{`{"id":1,"method":"workflows.status","params":{"executionId":"run_none"}}`, `{"id":1,"error":"unknown execution: run_none"}`},
		{`{"id":1,"method":"workflows.cancel","params":{"executionId":"run_none"}}`, `{"id":1,"error":"unknown execution: run_none"}`},
		{`{"id":1,"method":"scan.status","params":{"job_id":"job_none"}}`, `{"id":1,"error":"unknown task: job_none"}`},
		{`{"id":1,"method":"scan.techDebt","params":{"repository_url":"https://example.org/x"}}`, `{"id":1,"error":"only linked repositories can be scanned: main"}`},
		{`{"id":1,"method":"feedback.submit","params":{"conversation_log_id":"x","signal":"accept"}}`, `{"id":1,"error":"unknown conversation_log_id: x"}`},
		{`{"id":1,"method":"fleet.command","params":{"agentId":"Coder","command":" Pause "}}`, `{"id":1,"error":"\"pause\" is no command of this daemon; a task is stopped with background.cancel"}`},
		{`{"id":1,"method":"artifacts.preview","params":{"artifacts":[7]}}`, `{"id":1,"error":"invalid params: artifacts[0]: must be an artifact"}`},
		{`{"id":1,"method":"artifacts.preview","params":{"artifacts":"x"}}`, `{"id":1,"error":"invalid params: artifacts: must be an array"}`},
		// How one client encodes a list of artifacts: a list of one, and of two.
		{
			`{"id":"req_9","method":"artifacts.preview","params":{"artifacts":{"id":["","type","code","path","src/x.py","content","print(2)\n","language","python"]}}}`,
			`{"id":"req_9","result":{"files":[{"path":"src/x.py","action":"modify","diff":"--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-print(1)\n+print(2)\n"}]}}`,
		},
		{
			`{"id":"req_9","method":"artifacts.preview","params":{"artifacts":{"id":["","path","src/x.py","content","print(1)\n"],"id":["","path","../y","content",""]}}}`,
			`{"id":"req_9","result":{"files":[{"path":"src/x.py","action":"skip"},{"path":"../y","action":"skip","diff":"# ../y: the path leads out of the target\n"}]}}`,
		},
	} {
		c.Send(row[0])
		if got := c.Await("an answer", func(f frame) bool { return f.Type == "" }); got.raw != row[1] {
			t.Errorf("%d: %.200s\n got %s\nwant %s", i, row[0], got.raw, row[1])
		}
	}
}

// TestNoRequests checks which frames are ignored, and that the connection stays open.
func TestNoRequests(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	for _, text := range []string{
		"", "x", "{", "[]", "7", `"x"`, "null", "{}", `{"id":1}`, `{"method":"agents.list"}`, `{"id":null,"method":"agents.list"}`, `{"id":true,"method":"agents.list"}`,
		`{"id":[],"method":"agents.list"}`, `{"id":"` + strings.Repeat("x", 257) + `","method":"agents.list"}`, `{"id":1,"method":7}`, `{"id":1,"method":"agents.list"}x`,
		`{"type":"connected"}`,
	} {
		c.Send(text)
	}
	c.Send(`{"id":"last","method":"background.list"}`)
	if f := <-c.In; f.raw != `{"id":"last","result":[]}` {
		t.Errorf("%s", f.raw)
	}
	// A client may send binary frames and fragmented messages.
	if err := c.Conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"id":2,"method":"background.list"}`)); err != nil {
		t.Fatal(err)
	}
	c.answer("2")
	w, err := c.Conn.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`{"id":3,"meth`, `od":"background.list"`, `}`} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c.answer("3")
}

// TestTooMuch checks that a frame that is too long or too deeply nested closes the connection.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, text := range map[string]string{
		"long": `{"id":1,"method":"x","params":"` + strings.Repeat("x", maxFrame) + `"}`,
		"deep": `{"id":1,"method":"x","params":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`,
	} {
		conn, answer, err := websocket.Dial(t.Context(), s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body != nil {
			_ = answer.Body.Close()
		}
		_ = conn.Write(t.Context(), websocket.MessageText, []byte(text)) // the daemon may close it halfway
		if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
			t.Errorf("%s: %v", name, err)
		}
		_ = conn.CloseNow()
	}
}

// raw sends bytes and returns what it reads until the headers are complete or the daemon closes
// the connection.
func (s *stage) raw(request string) string {
	s.T.Helper()
	conn, err := (&net.Dialer{}).DialContext(s.T.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "ws://"), "/ws"))
	if err != nil {
		s.T.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		s.T.Fatal(err)
	}
	var got strings.Builder
	for part := make([]byte, 4096); !strings.Contains(got.String(), "\r\n\r\n"); {
		n, err := conn.Read(part)
		got.Write(part[:n])
		if err != nil {
			break
		}
	}
	return got.String()
}

// TestHandshake checks which clients are admitted, and the handshake's answer.
func TestHandshake(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) { o.Origins = []string{"https://ide.example"} })
	port := s.server.socket.Guard().Port()
	const upgrade = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	for _, c := range []struct{ request, want string }{
		{"GET /ws HTTP/1.1\r\nHost: localhost:" + port + "\r\n" + upgrade, "101"},
		{"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n" + upgrade, "101"},
		{"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nOrigin: https://ide.example\r\n" + upgrade, "101"},
		{"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nOrigin: http://127.0.0.1:" + port + "\r\n" + upgrade, "403"},
		{"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nOrigin: https://evil.example\r\n" + upgrade, "403"},
		{"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nSec-Fetch-Site: cross-site\r\n" + upgrade, "403"},
		{"GET /ws HTTP/1.1\r\nHost: evil.example:" + port + "\r\n" + upgrade, "403"},
		{"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\n" + upgrade, "403"},
		{"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n", "426"},
		{"POST /ws HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nContent-Length: 0\r\n", "405"},
		{"GET / HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n", "404"},
		{"GET /ws/ HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n" + upgrade, "404"},
		{"GET /health HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n", "200"},
		{"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\nX: " + strings.Repeat("x", 24<<10) + "\r\n", "431"},
	} {
		got := s.raw(c.request + "\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+c.want+" ") {
			t.Errorf("%.120q: %.80q, want %s", c.request, got, c.want)
		}
		if c.want == "101" && (!strings.Contains(got, "Sec-Websocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") || strings.Contains(got, "Extensions") || strings.Contains(got, "-Protocol") || len(got) > 2048) {
			t.Errorf("%q", got)
		}
	}
	answer, err := http.Get("http://127.0.0.1:" + port + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var told health
	if err := json.NewDecoder(answer.Body).Decode(&told); err != nil || told.Status != "ok" || told.Dialect != "autonoma" || told.Protocol != "1.0" {
		t.Errorf("%+v (%v)", told, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestUnmaskedClose checks that the server drops clients that close with an unmasked frame or
// without a close frame.
func TestUnmaskedClose(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, goodbye := range []string{"\x88\x00", "\x88\x80\x00\x00\x00\x00", "\x88\x02\x03\xe8", ""} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "ws://"), "/ws"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET /ws HTTP/1.1\r\nHost: "+conn.RemoteAddr().String()+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"+goodbye)
		if goodbye == "" {
			_ = conn.Close()
		} else if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("%q: %v", goodbye, err)
		}
		_ = conn.Close()
	}
	dialecttest.Until(t, "the clients are gone", func() bool { return len(s.server.connections.All()) == 0 })
}

// TestReadArtifacts checks the forms in which clients send artifacts.
func TestReadArtifacts(t *testing.T) {
	t.Parallel()
	content := "c"
	one := sentArtifact{"i", "code", "p", &content}
	for raw, want := range map[string][]sentArtifact{
		`null`: nil, `[]`: nil, `{}`: nil, `{"id":null}`: nil,
		`[{"id":"i","type":"code","path":"p","content":"c","more":{}}]`:                                         {one},
		`{"id":["i","type","code","path","p","content","c","language","go"]}`:                                   {one},
		`{"id":["i","type","code","path","p","content","c"],"id":["i","content","c","path","p","type","code"]}`: {one, one},
		`{"path":["p","id","i","type","code","content","c"],"x":{"id":"j","path":null}}`:                        {one, {ID: "j"}},
	} {
		got, err := readArtifacts(param.Parse([]byte(raw)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v (%v)", raw, got, err)
		}
	}
	for raw, want := range map[string]string{
		`7`: "artifacts: must be an array", `[[]]`: "artifacts[0]: must be an artifact", `{"id":[]}`: "artifacts[0]: must be an artifact",
		`{"id":["a","b"]}`: "artifacts[0]: must be an artifact", `{"id":["a",1,2]}`: "artifacts[0]: must be an artifact", `{"id":"x"}`: "artifacts[0]: must be an artifact",
		`[{},{"path":7}]`: "artifacts[1].path: expected string, got number",
	} {
		if _, err := readArtifacts(param.Parse([]byte(raw))); err == nil || oneLine(err) != "invalid params: "+want {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// FuzzFrames searches for a frame that breaks the parsing of requests or of artifacts.
func FuzzFrames(f *testing.F) {
	for _, text := range []string{
		`{"id":"req_1","method":"artifacts.apply","params":{"artifacts":[{"id":"a"}]}}`, `{"id":1,"method":"x","params":{"artifacts":{"id":["a","b","c"],"id":null}}}`,
		`{"id":1,"params":[],"method":"x"}`, `{"id":1,"method":"x","params":{"a":null,"\u0061":1}}`, "{", "[]", "\xff",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRequest(text)
		if err != nil {
			return
		}
		if !json.Valid(r.id) {
			t.Errorf("the id %q of %q", r.id, text)
		}
		if r.bad != nil {
			return
		}
		if !json.Valid(r.params) || r.params[0] != '{' {
			t.Fatalf("the params %q of %q", r.params, text)
		}
		whole := param.Parse(r.params)
		for i, item := range whole.Items {
			if item.Kind == shape.Null {
				t.Errorf("%s is null in %q", whole.Keys[i], r.params)
			}
		}
		list, err := readArtifacts(*whole.Get("artifacts"))
		if err != nil && !strings.HasPrefix(oneLine(err), "invalid params: artifacts") {
			t.Errorf("%v of %q", err, text)
		}
		if len(list) > len(whole.Get("artifacts").Items) {
			t.Errorf("%d artifacts in %q", len(list), text)
		}
	})
}

// TestHomes checks which repository URL a scan matches.
func TestHomes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dialecttest.Write(t, filepath.Join(root, ".git/config"), "[core]\n\turl = no\n[remote \"origin\"]\n\tfetch = x\n\turl = https://user:pass@example.org/a/b.git/\n")
	from := originOf(root)
	for _, name := range []string{"https://example.org/a/b", "https://other@example.org/a/b.git", from} {
		if plainURL(name) != plainURL(from) {
			t.Errorf("%s is not %s", plainURL(name), plainURL(from))
		}
	}
	for _, name := range []string{"https://example.org/a/c", "https://evil.example/a/b", ""} {
		if plainURL(name) == plainURL(from) {
			t.Errorf("%s is %s", name, from)
		}
	}
	if got := originOf(filepath.Join(root, "none")); got != "" {
		t.Error(got)
	}
	if err := os.Remove(filepath.Join(root, ".git/config")); err != nil {
		t.Fatal(err)
	}
	if got := originOf(root); got != "" {
		t.Error(got)
	}
}
