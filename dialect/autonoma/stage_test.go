package autonoma

// What the tests stand on: a company with a repository and a worker, a daemon, and clients.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

// stage is a company with a daemon.
type stage struct {
	t                         *testing.T
	dir, repo, project, agent string
	url                       string
	actor                     company.ActorParams // of the daemons that open starts
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

func git(t *testing.T, dir string, words ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=T", "-c", "user.email=t@example.org"}, words...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", words, err, out)
	}
	return string(out)
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

// newStage makes a company of one worker, called Coder, with a git repository.
func newStage(t *testing.T, change ...func(*Options)) *stage {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(must(os.Executable()), filepath.Join(bin, "answerer")); err != nil {
		t.Fatal(err)
	}
	base := workspace.Canonical(t.TempDir())
	s := &stage{t: t, dir: filepath.Join(base, "ws"), repo: filepath.Join(base, "repo"), actor: company.ActorParams{ActorID: "human", ActorRole: "human"}}
	env := workspace.SystemEnv()
	env.LockPatience = patience
	if err := workspace.Init(t.Context(), env, s.dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w := must(workspace.Open(env, s.dir))
	s.project = must(w.NewProject(t.Context(), "P"))
	s.agent = must(w.NewAgent(t.Context(), workspace.AgentSpec{Name: "Coder", Role: "worker", Provider: "cmd"}))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.dir, workspace.AgentFile(s.agent))
	write(t, file, strings.Replace(string(must(os.ReadFile(file))), "launcher: {}", "launcher: {command_argv_template: ["+filepath.Join(bin, "answerer")+"]}", 1))
	write(t, filepath.Join(s.repo, "src/x.py"), "print(1)\n")
	git(t, s.repo, "init", "-q")
	git(t, s.repo, "add", ".")
	git(t, s.repo, "commit", "-qm", "first")
	s.open(change...)
	in := company.Dir{WorkspaceDir: s.dir}
	must(dialect.Do(t.Context(), s.company, (*company.Company).SetRepoRoot, company.RepoRootParams{Dir: in, RepoID: "main", RepoPath: s.repo}))
	must(dialect.Do(t.Context(), s.company, (*company.Company).LinkRepo, company.LinkRepoParams{Dir: in, ProjectID: s.project, RepoID: "main"}))
	return s
}

// open starts a daemon over the company.
func (s *stage) open(change ...func(*Options)) {
	s.t.Helper()
	c, release := actIn(s.dir, s.project, io.Discard)
	c.Actor = s.actor
	s.company = c
	o := Options{Place: dialect.Place{Dialect: Name, Address: "127.0.0.1:0"}, AnswerWithin: DefaultAnswerWithin}
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
			s.t.Error("the daemon does not end")
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

// client is a connection, with the frames that it has read and not yet used.
type client struct {
	t    *testing.T
	conn *websocket.Conn
	in   chan frame
	kept []frame
}

// frame is anything that the daemon sends.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *string         `json:"error"`
	LogID  string          `json:"conversation_log_id"`
	Type   string          `json:"type"`
	Data   json.RawMessage `json:"data"`
	raw    string
}

func (s *stage) dial() *client { return dial(s.t, s.url) }

func dial(t *testing.T, url string) *client {
	t.Helper()
	conn, answer, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	conn.SetReadLimit(-1)
	c := &client{t: t, conn: conn, in: make(chan frame, 10_000)}
	go func() { // ends with the connection
		defer close(c.in)
		for {
			_, text, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			f := frame{raw: string(text)}
			if err := json.Unmarshal(text, &f); err != nil {
				f.raw = "no JSON: " + f.raw
			}
			c.in <- f
		}
	}()
	t.Cleanup(func() {
		_ = conn.CloseNow()
		for range c.in { // until the reader is gone
		}
	})
	return c
}

func (c *client) send(text string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// await reads until a frame is as wanted; the others are kept for later.
func (c *client) await(what string, wanted func(frame) bool) frame {
	c.t.Helper()
	for i, f := range c.kept {
		if wanted(f) {
			c.kept = append(c.kept[:i:i], c.kept[i+1:]...)
			return f
		}
	}
	limit := time.After(patience)
	for {
		select {
		case f, ok := <-c.in:
			if !ok {
				c.t.Fatalf("the connection ended before: %s", what)
			}
			if wanted(f) {
				return f
			}
			c.kept = append(c.kept, f)
		case <-limit:
			c.t.Fatalf("never: %s; kept %d frames", what, len(c.kept))
		}
	}
}

// answer awaits the answer of a request.
func (c *client) answer(id string) frame {
	c.t.Helper()
	return c.await("answer of "+id, func(f frame) bool { return string(f.ID) == id })
}

// ask sends a request and returns the frame of its answer.
func (c *client) ask(method string, params any) frame {
	c.t.Helper()
	id := fmt.Sprintf(`"req_%s_%d"`, method, time.Now().UnixNano())
	c.send(fmt.Sprintf(`{"id":%s,"method":%q,"params":%s}`, id, method, must(json.Marshal(params))))
	return c.answer(id)
}

// do is ask for a request that must succeed. into gets the result, nil for nobody.
func (c *client) do(method string, params, into any) frame {
	c.t.Helper()
	f := c.ask(method, params)
	if f.Error != nil {
		c.t.Fatalf("%s: %s", method, *f.Error)
	}
	if into != nil {
		if err := json.NewDecoder(bytes.NewReader(f.Result)).Decode(into); err != nil {
			c.t.Fatalf("%s: %v in %s", method, err, f.raw)
		}
	}
	return f
}

// refused is ask for a request that must fail.
func (c *client) refused(method string, params any) string {
	c.t.Helper()
	f := c.ask(method, params)
	if f.Error == nil || f.Result != nil {
		c.t.Fatalf("%s %v: %s", method, params, f.raw)
	}
	return *f.Error
}

type object = map[string]any

// over waits for the end of an execution, by asking.
func (c *client) over(id string) executionResult {
	c.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var r executionResult
		c.do("execution.status", object{"executionId": id}, &r)
		if r.Status == "success" || r.Status == "failure" {
			return r
		}
	}
	c.t.Fatalf("%s is never over", id)
	return executionResult{}
}

// daemonWord is the word that makes the test binary a daemon of its own process.
const daemonWord = "daemon"

// daemon serves a company until it is killed.
func daemon(words []string) error {
	c, release := actIn(words[0], words[1], os.Stderr)
	listener, err := Listen(context.Background(), c, Options{Place: dialect.Place{Dialect: Name, Address: "127.0.0.1:0"}, AnswerWithin: DefaultAnswerWithin})
	if err == nil {
		fmt.Println(listener.Addr)
		err = listener.Serve(context.Background())
	}
	return errors.Join(err, release())
}
