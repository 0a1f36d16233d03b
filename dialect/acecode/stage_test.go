package acecode

// What the tests stand on: a company with a repository and an agent, a daemon, and clients.

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"ac/company"
	"ac/dialect"
	"ac/feed"
	"ac/workspace"
)

// patience bounds every wait for a state, on a busy machine too.
const patience = 60 * time.Second

const testToken = "test-token"

// stage is a company with a daemon.
type stage struct {
	t                         *testing.T
	dir, repo, project, agent string
	url                       string
	server                    *server
	company                   *dialect.Company
	end                       func()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// newStage makes a company of one agent that speaks, with a repository.
func newStage(t *testing.T, change ...func(*Options)) *stage {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(must(os.Executable()), filepath.Join(bin, "speaker")); err != nil {
		t.Fatal(err)
	}
	base := workspace.Canonical(t.TempDir())
	s := &stage{t: t, dir: filepath.Join(base, "ws"), repo: filepath.Join(base, "repo")}
	env := workspace.SystemEnv()
	env.LockPatience = patience
	if err := workspace.Init(t.Context(), env, s.dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w := must(workspace.Open(env, s.dir))
	s.project = must(w.NewProject(t.Context(), "P"))
	s.agent = must(w.NewAgent(t.Context(), workspace.AgentSpec{Name: "Speaker", Role: "worker", Provider: "acp_own"}))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.repo, "README"), "hello\n")
	s.open(change...)
	in := company.Dir{WorkspaceDir: s.dir}
	must(dialect.Do(t.Context(), s.company, (*company.Company).SetAgentCommand, company.AgentCommandParams{Dir: in, Provider: "acp_own", Argv: []string{filepath.Join(bin, "speaker"), "--acp"}}))
	must(dialect.Do(t.Context(), s.company, (*company.Company).SetRepoRoot, company.RepoRootParams{Dir: in, RepoID: "main", RepoPath: s.repo}))
	must(dialect.Do(t.Context(), s.company, (*company.Company).LinkRepo, company.LinkRepoParams{Dir: in, ProjectID: s.project, RepoID: "main"}))
	s.end()
	s.open(change...)
	t.Cleanup(s.stopAll)
	return s
}

// stopAll ends the sessions that the test left.
func (s *stage) stopAll() {
	c, release := actIn(s.dir, s.project, io.Discard)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	live, err := dialect.Do(ctx, c, (*company.Host).ListSessions, company.ListSessionsParams{MaybeDir: company.MaybeDir{WorkspaceDir: s.dir}, Status: "running"})
	if err != nil {
		s.t.Error(err)
	}
	for _, one := range live {
		named := company.SessionParams{MaybeDir: company.MaybeDir{WorkspaceDir: s.dir}, SessionRef: one.SessionRef}
		_, _ = dialect.Do(ctx, c, (*company.Host).StopSession, named)    // it may end by itself
		_, _ = dialect.Do(ctx, c, (*company.Host).CollectSession, named) // nothing is written any more
	}
	if err := release(); err != nil {
		s.t.Error(err)
	}
}

// open starts a daemon over the company.
func (s *stage) open(change ...func(*Options)) {
	s.t.Helper()
	c, release := actIn(s.dir, s.project, io.Discard)
	s.company = c
	o := Options{Place: dialect.Place{Address: "127.0.0.1:0", Token: testToken}, Terminals: true}
	for _, fn := range change {
		fn(&o)
	}
	made, listener, err := listen(s.t.Context(), c, o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.server = made
	s.url = strings.TrimSuffix(strings.Split(listener.Addr, "?")[0], "/")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- listener.Serve(ctx) }()
	done := false
	s.end = func() {
		if done {
			return
		}
		done = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				s.t.Error(err)
			}
		case <-time.After(patience):
			s.t.Error("the daemon does not end")
		}
		if err := release(); err != nil {
			s.t.Error(err)
		}
	}
	end := s.end
	s.t.Cleanup(end)
}

// actIn is a company as a process opens it.
func actIn(dir, project string, log io.Writer) (c *dialect.Company, release func() error) {
	env := workspace.SystemEnv()
	env.LockPatience = patience
	hub := feed.NewHub(nil, env.Clock, env.IDs.New)
	host := company.New(company.Options{Env: env, Executable: must(os.Executable()), Hub: hub, Stderr: log, Version: "test", Terminals: true})
	return &dialect.Company{
			Host: host, Dir: dir, ProjectID: project, Version: "test", Clock: env.Clock, Log: slog.New(slog.NewTextHandler(log, nil)),
			Actor: company.ActorParams{ActorID: "human", ActorRole: "human"},
		}, func() error {
			hub.Close()
			return host.Close()
		}
}

// reply is the answer to a request.
type reply struct {
	code   int
	header http.Header
	text   string
}

// do sends a request; header are names and values.
func (s *stage) do(method, path, body string, header ...string) reply {
	s.t.Helper()
	r := must(http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body)))
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	text := must(io.ReadAll(answer.Body))
	return reply{answer.StatusCode, answer.Header, strings.TrimSpace(string(text))}
}

// want sends a request whose answer has a status and holds texts, and decodes it.
func (s *stage) want(code int, method, path, body string, into any, holds ...string) reply {
	s.t.Helper()
	r := s.do(method, path, body)
	if r.code != code {
		s.t.Fatalf("%s %s %s: %d %s", method, path, body, r.code, r.text)
	}
	for _, part := range holds {
		if !strings.Contains(r.text, part) {
			s.t.Errorf("%s %s: %s lacks %s", method, path, r.text, part)
		}
	}
	if into != nil {
		if err := json.Unmarshal([]byte(r.text), into); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, r.text)
		}
	}
	return r
}

// create makes a session that says something.
func (s *stage) create(text string) string {
	s.t.Helper()
	var made struct {
		ID string `json:"session_id"`
	}
	body := must(json.Marshal(object{"initial_user_message": text}))
	s.want(http.StatusCreated, "POST", "/api/sessions", string(body), &made)
	return made.ID
}

// received is a frame of the server.
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
}

// dial opens a socket. Without a header it is the document's client.
func (s *stage) dial(path string, header ...string) *client {
	s.t.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	conn, answer, err := websocket.Dial(s.t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+path, &websocket.DialOptions{HTTPHeader: h})
	if err != nil {
		s.t.Fatalf("%s: %v", path, err)
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	conn.SetReadLimit(64 << 20)
	c := &client{t: s.t, conn: conn}
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return c
}

func (c *client) send(text string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// read reads the next frame.
func (c *client) read() received {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	_, text, err := c.conn.Read(ctx)
	if err != nil {
		c.t.Fatalf("%v; read so far:\n%s", err, tail(c.all(), 4000))
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

// await reads up to a frame of a type, in any naming.
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

// text is a member of the payload.
func (f received) text(name string) string {
	text, _ := f.Payload[name].(string)
	return text
}

// hello binds the socket to a session.
func (c *client) hello(id string, since int64) received {
	c.t.Helper()
	c.send(string(must(json.Marshal(object{"type": "hello", "payload": object{"session_id": id, "since": since}}))))
	return c.await("hello_ack")
}
