package acecode

// Fixtures of the tests: a company with a repository and an agent, a daemon, and clients.

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ac/company"
	"ac/company/equipment"
	"ac/dialect"
	"ac/dialect/dialecttest"
	"ac/internal/clip"
)

const testToken = "test-token"

// stage is a company with a daemon.
type stage struct {
	*dialecttest.Stage
	agent   string
	program string // the agent's
	url     string
	server  *server
}

// newStage creates a company with one agent, called Speaker, and starts a daemon for it.
func newStage(t *testing.T, change ...func(*Options)) *stage {
	t.Helper()
	s := &stage{Stage: dialecttest.New(t, dialecttest.Agent{Name: "Speaker", Provider: "acp_own"})}
	s.agent = s.Agents["Speaker"]
	s.program = dialecttest.Program(t, "speaker")
	c, release := dialecttest.Open(s.Dir, s.Project, io.Discard)
	dialecttest.Must(dialect.Do(t.Context(), c, equipment.Operations.SetAgentCommand, equipment.AgentCommandParams{
		Dir: company.Dir{WorkspaceDir: s.Dir}, Provider: "acp_own", Argv: []string{s.program, "--acp"},
	}))
	if err := release(); err != nil {
		t.Fatal(err)
	}
	s.open(change...)
	t.Cleanup(s.stopAll)
	return s
}

// patient lets a client stop reading for as long as a busy machine needs.
func patient(o *Options) { o.Place.Patience = time.Hour }

// stopAll stops the sessions that the test left running.
func (s *stage) stopAll() {
	c, release := dialecttest.Open(s.Dir, s.Project, io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), dialecttest.Patience)
	defer cancel()
	live, err := dialect.Do(ctx, c, (*company.Host).ListSessions, company.ListSessionsParams{MaybeDir: company.MaybeDir{WorkspaceDir: s.Dir}, Status: "running"})
	if err != nil {
		s.T.Error(err)
	}
	for _, one := range live {
		named := company.SessionParams{MaybeDir: company.MaybeDir{WorkspaceDir: s.Dir}, SessionRef: one.SessionRef}
		_, _ = dialect.Do(ctx, c, (*company.Host).StopSession, named)    // it may have ended by itself
		_, _ = dialect.Do(ctx, c, (*company.Host).CollectSession, named) // nothing writes any more
	}
	if err := release(); err != nil {
		s.T.Error(err)
	}
}

// open starts a daemon for the company.
func (s *stage) open(change ...func(*Options)) {
	s.T.Helper()
	o := Options{Place: dialect.ListenOptions{Address: "127.0.0.1:0", Token: testToken}, Terminals: true}
	for _, fn := range change {
		fn(&o)
	}
	s.Serve(func(c *dialect.Company) func(context.Context) error {
		made, listener, err := listen(s.T.Context(), c, o)
		if err != nil {
			s.T.Fatal(err)
		}
		s.server = made
		s.url = strings.TrimSuffix(strings.Split(listener.Addr, "?")[0], "/")
		return listener.Serve
	})
}

// reply is the answer to a request.
type reply struct {
	code   int
	header http.Header
	text   string
}

// do sends a request. header alternates names and values.
func (s *stage) do(method, path, body string, header ...string) reply {
	s.T.Helper()
	r := dialecttest.Must(http.NewRequestWithContext(s.T.Context(), method, s.url+path, strings.NewReader(body)))
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.T.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // already read
	text := dialecttest.Must(io.ReadAll(answer.Body))
	return reply{answer.StatusCode, answer.Header, strings.TrimSpace(string(text))}
}

// want sends a request, checks the status and that the answer contains texts, and decodes it.
func (s *stage) want(code int, method, path, body string, into any, holds ...string) reply {
	s.T.Helper()
	r := s.do(method, path, body)
	if r.code != code {
		s.T.Fatalf("%s %s %s: %d %s", method, path, body, r.code, r.text)
	}
	for _, part := range holds {
		if !strings.Contains(r.text, part) {
			s.T.Errorf("%s %s: %s lacks %s", method, path, r.text, part)
		}
	}
	if into != nil {
		if err := json.Unmarshal([]byte(r.text), into); err != nil {
			s.T.Fatalf("%s %s: %v: %s", method, path, err, r.text)
		}
	}
	return r
}

// create creates a session with an initial message.
func (s *stage) create(text string) string {
	s.T.Helper()
	var made struct {
		ID string `json:"session_id"`
	}
	body := dialecttest.Must(json.Marshal(object{"initial_user_message": text}))
	s.want(http.StatusCreated, "POST", "/api/sessions", string(body), &made)
	return made.ID
}

// received is a frame from the server.
type received struct {
	Type    string
	Seq     int64
	At      int64 `json:"timestamp_ms"`
	Payload map[string]any
	raw     string
}

// client is a connection to a session's socket.
type client struct {
	t    *testing.T
	conn *websocket.Conn
	got  []received
	kept []received // frames that hello read and no caller has consumed
}

// dial opens a socket. Without a header it acts as the documented client.
func (s *stage) dial(path string, header ...string) *client {
	s.T.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	conn, answer, err := websocket.Dial(s.T.Context(), "ws"+strings.TrimPrefix(s.url, "http")+path, &websocket.DialOptions{HTTPHeader: h})
	if err != nil {
		s.T.Fatalf("%s: %v", path, err)
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	conn.SetReadLimit(64 << 20)
	c := &client{t: s.T, conn: conn}
	s.T.Cleanup(func() { _ = conn.CloseNow() })
	return c
}

func (c *client) send(text string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// read returns the next frame, first those that hello kept.
func (c *client) read() (f received) {
	c.t.Helper()
	if len(c.kept) > 0 {
		f, c.kept = c.kept[0], c.kept[1:]
		return f
	}
	return c.receive()
}

// receive reads the next frame from the connection.
func (c *client) receive() received {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), dialecttest.Patience)
	defer cancel()
	_, text, err := c.conn.Read(ctx)
	if err != nil {
		c.t.Fatalf("%v; read so far:\n%s", err, clip.Tail(c.all(), 4000))
	}
	var f received
	if err := json.Unmarshal(text, &f); err != nil {
		c.t.Fatalf("%v: %s", err, text)
	}
	f.raw = string(text)
	c.got = append(c.got, f)
	return f
}

func (c *client) all() string {
	var b bytes.Buffer
	for _, f := range c.got {
		b.WriteString(f.raw + "\n")
	}
	return b.String()
}

// await reads until a frame of a type that contains all texts. Types are those of either naming.
func (c *client) await(kind string, holds ...string) received {
	c.t.Helper()
next:
	for {
		f := c.read()
		if f.Type != kind {
			continue
		}
		for _, part := range holds {
			if !strings.Contains(f.raw, part) {
				continue next
			}
		}
		return f
	}
}

// text returns a string field of the payload.
func (f received) text(name string) string {
	text, _ := f.Payload[name].(string)
	return text
}

// hello binds the socket to a session.
func (c *client) hello(id string, since int64) received {
	c.t.Helper()
	c.send(string(dialecttest.Must(json.Marshal(object{"type": "hello", "payload": object{"session_id": id, "since": since}}))))
	for {
		f := c.receive()
		if f.Type == "hello_ack" {
			return f
		}
		c.kept = append(c.kept, f) // the replay precedes the acknowledgment
	}
}
