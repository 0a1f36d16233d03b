package comma

// What the tests stand on: a company with a repository and agents, a listener, and clients
// that hold every message to its closed schema.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
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

type object = map[string]any

// stage is a company with a listener.
type stage struct {
	t                  *testing.T
	dir, repo, project string
	agents             map[string]string // ids, by name
	url                string
	server             *server
	company            *dialect.Company
	end                func()
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

// newStage makes a company of two agents, Speaker that is spoken with and Printer that is a
// command, with a repository.
func newStage(t *testing.T, change ...func(*Options)) *stage {
	t.Helper()
	base := workspace.Canonical(t.TempDir())
	s := &stage{t: t, dir: filepath.Join(base, "ws"), repo: filepath.Join(base, "repo"), agents: map[string]string{}}
	env := workspace.SystemEnv()
	env.LockPatience = patience
	if err := workspace.Init(t.Context(), env, s.dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w := must(workspace.Open(env, s.dir))
	s.project = must(w.NewProject(t.Context(), "P"))
	for name, provider := range map[string]string{"Speaker": "acp_own", "Printer": "cmd"} {
		s.agents[name] = must(w.NewAgent(t.Context(), workspace.AgentSpec{Name: name, Role: "worker", Provider: provider}))
		bin := filepath.Join(t.TempDir(), strings.ToLower(name))
		if err := os.Symlink(must(os.Executable()), bin); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(s.dir, workspace.AgentFile(s.agents[name]))
		write(t, file, strings.Replace(string(must(os.ReadFile(file))), "launcher: {}", "launcher: {command_argv_template: ["+bin+"]}", 1))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.repo, "src/x.py"), "print(1)\n")
	for _, words := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", s.repo}, words...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", words, err, out)
		}
	}
	s.open(change...)
	in := company.Dir{WorkspaceDir: s.dir}
	must(dialect.Do(t.Context(), s.company, (*company.Company).SetRepoRoot, company.RepoRootParams{Dir: in, RepoID: "main", RepoPath: s.repo}))
	must(dialect.Do(t.Context(), s.company, (*company.Company).LinkRepo, company.LinkRepoParams{Dir: in, ProjectID: s.project, RepoID: "main"}))
	return s
}

// open starts a listener over the company.
func (s *stage) open(change ...func(*Options)) {
	s.t.Helper()
	c, release := actIn(s.dir, s.project, io.Discard)
	s.company = c
	o := Options{Place: dialect.Place{Dialect: Name, Address: "127.0.0.1:0", MaxHeader: maxHeader, Patience: pongWithin}, Level: "run-commands", Isolation: "none"}
	for _, fn := range change {
		fn(&o)
	}
	socket := must(dialect.Listen(s.t.Context(), o.Place, c.Log))
	s.server = newServer(c, o, socket)
	s.url = "ws://" + socket.Addr() + "/ws"
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.serve(ctx) }()
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
			s.t.Error("the listener does not end")
		}
		if err := release(); err != nil {
			s.t.Error(err)
		}
	}
	s.t.Cleanup(s.end)
}

// actIn is a company as a process opens it.
func actIn(dir, project string, log io.Writer) (c *dialect.Company, release func() error) {
	env := workspace.SystemEnv()
	env.LockPatience = patience
	hub := feed.NewHub(nil, env.Clock, env.IDs.New)
	host := company.New(company.Options{Env: env, Executable: must(os.Executable()), Hub: hub, Stderr: log, Version: "test"})
	return &dialect.Company{
			Host: host, Dir: dir, ProjectID: project, Version: "test", Clock: env.Clock, Log: slog.New(slog.NewTextHandler(log, nil)),
			Actor: company.ActorParams{ActorID: "human", ActorRole: "human"},
		}, func() error {
			hub.Close()
			return host.Close()
		}
}

// daemonWord is the word that makes the test binary a listener of its own process.
const daemonWord = "daemon"

// daemon serves a company until it is killed.
func daemon(words []string) error {
	c, release := actIn(words[0], words[1], os.Stderr)
	listener, err := Listen(context.Background(), c, Options{Place: dialect.Place{Dialect: Name, Address: "127.0.0.1:0"}})
	if err == nil {
		fmt.Println(listener.Addr)
		err = listener.Serve(context.Background())
	}
	return errors.Join(err, release())
}

// strategy writes a strategy into the workspace, and returns its path.
func (s *stage) strategy(name string, doc object) string {
	s.t.Helper()
	path := filepath.Join(s.dir, "strategies", name)
	write(s.t, path, string(must(json.Marshal(doc))))
	return path
}

// flowOf is a strategy of agents of one kind, in a flow.
func flowOf(agents object, flow object) object {
	return object{"name": "One", "version": "1", "agents": agents, "flow": flow}
}

// one is a strategy of one call.
func (s *stage) one() string {
	return s.strategy("one.json", flowOf(object{"speaker": object{"tools": []string{"write_file", "run_command"}}}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "speaker"}}}))
}

// client is a connection, with the messages that it has read and not yet used.
type client struct {
	t    *testing.T
	conn *websocket.Conn
	in   chan message
	kept []message
}

// message is anything that the listener sends.
type message struct {
	Type      string          `json:"type"`
	RunID     string          `json:"runId"`
	RequestID *string         `json:"requestId"`
	AgentName string          `json:"agentName"`
	StepName  string          `json:"stepName"`
	Message   string          `json:"-"`
	Code      string          `json:"code"`
	Text      string          `json:"text"`
	Event     json.RawMessage `json:"event"`
	raw       string
}

func (m message) is(kind, run string) bool { return m.Type == kind && m.RunID == run }

func (s *stage) dial() *client { return dial(s.t, s.url) }

// handshake is what a server answers who asks for a connection.
type handshake struct {
	status int
	header http.Header
}

// upgrade asks for a connection.
func upgrade(t *testing.T, url string, o *websocket.DialOptions) (conn *websocket.Conn, got handshake, err error) {
	t.Helper()
	conn, answer, err := websocket.Dial(t.Context(), url, o)
	if answer != nil {
		got = handshake{answer.StatusCode, answer.Header}
		if answer.Body != nil {
			_ = answer.Body.Close()
		}
	}
	return conn, got, err
}

func dial(t *testing.T, url string) *client {
	t.Helper()
	conn, answer, err := upgrade(t, url, &websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("an offer of compression is answered: %s", got)
	}
	conn.SetReadLimit(-1)
	c := &client{t: t, conn: conn, in: make(chan message, 10_000)}
	go func() { // ends with the connection
		defer close(c.in)
		for {
			_, text, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			m := message{raw: string(text)}
			if err := json.Unmarshal(text, &m); err != nil {
				t.Errorf("no JSON: %s", text)
			}
			for _, why := range schemaFaults(text) {
				t.Errorf("%s in %s", why, text)
			}
			c.in <- m
		}
	}()
	t.Cleanup(func() {
		_ = conn.CloseNow()
		for range c.in { // until the reader is gone
		}
	})
	return c
}

// send sends a message of a type, with a requestId of that name.
func (c *client) send(kind string, members object) {
	c.t.Helper()
	all := object{"type": kind, "requestId": kind}
	for name, value := range members {
		all[name] = value
	}
	c.sendText(string(must(json.Marshal(all))))
}

func (c *client) sendText(text string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// next is the next message in its order.
func (c *client) next(what string) message {
	c.t.Helper()
	if len(c.kept) > 0 {
		m := c.kept[0]
		c.kept = c.kept[1:]
		return m
	}
	select {
	case m, ok := <-c.in:
		if !ok {
			c.t.Fatalf("the connection ended before: %s", what)
		}
		return m
	case <-time.After(patience):
		c.t.Fatalf("never: %s", what)
	}
	return message{}
}

// await reads until a message is as wanted; the others are kept for later.
func (c *client) await(what string, wanted func(message) bool) message {
	c.t.Helper()
	for i, m := range c.kept {
		if wanted(m) {
			c.kept = append(c.kept[:i:i], c.kept[i+1:]...)
			return m
		}
	}
	limit := time.After(patience)
	for {
		select {
		case m, ok := <-c.in:
			if !ok {
				c.t.Fatalf("the connection ended before: %s", what)
			}
			if wanted(m) {
				return m
			}
			c.kept = append(c.kept, m)
		case <-limit:
			c.t.Fatalf("never: %s; kept %v", what, c.kept)
		}
	}
}

// ask sends a message and returns its answer.
func (c *client) ask(kind string, members object) message {
	c.t.Helper()
	c.send(kind, members)
	return c.await("the answer to "+kind, func(m message) bool { return m.RequestID != nil && *m.RequestID == kind })
}

// refused is ask for a message that must be refused.
func (c *client) refused(kind string, members object) (code, text string) {
	c.t.Helper()
	c.send(kind, members)
	m := c.await("a refusal of "+kind, func(m message) bool { return m.Type == "error" && m.RequestID != nil && *m.RequestID == kind })
	var body errorBody
	if err := json.Unmarshal([]byte(m.raw), &body); err != nil {
		c.t.Fatalf("%s %v: %s", kind, members, m.raw)
	}
	return body.Code, body.Message
}

// prepare prepares a run, which must succeed.
func (c *client) prepare(run, path string, more object) message {
	c.t.Helper()
	all := object{"runId": run, "strategyPath": path}
	for name, value := range more {
		all[name] = value
	}
	m := c.ask("prepare_run", all)
	if m.Type != "run_prepared" {
		c.t.Fatalf("%s", m.raw)
	}
	return m
}

// until reads messages of a run, in their order, up to one of a type.
func (c *client) until(run, kind string) (list []message) {
	c.t.Helper()
	for {
		m := c.next(kind + " of " + run)
		if m.RunID != run {
			continue
		}
		if list = append(list, m); m.Type == kind {
			return list
		}
	}
}
