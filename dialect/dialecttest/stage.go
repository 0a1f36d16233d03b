// Package dialecttest is the fixture for the dialects' tests: a company with a repository and
// agents, listeners for it, WebSocket clients, and a test binary that plays every program of the
// company.
package dialecttest

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/company"
	"ac/company/workforce"
	"ac/dialect"
	"ac/feed"
	"ac/workspace"
)

// Patience limits every wait for a state. It is generous, for busy machines.
const Patience = 60 * time.Second

// Must returns the value of a call that must not fail.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Write writes a file and creates its parent folders.
func Write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Git runs git in a folder and returns its output.
func Git(t *testing.T, dir string, words ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=T", "-c", "user.email=t@example.org"}, words...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", words, err, out)
	}
	return string(out)
}

// Until polls until reached returns true. what describes the state for the failure message.
func Until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	limit := time.After(Patience)
	for !reached() {
		select {
		case <-limit:
			t.Fatalf("it is not so after %v: %s", Patience, what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Agent is an agent of a company. The test binary plays its program (see Main), "" if it has none.
type Agent struct{ Name, Provider, Program string }

// Stage is a company with a project and a linked repository, whose id is main.
type Stage struct {
	T                  *testing.T
	Dir, Repo, Project string
	Agents             map[string]string // ids, by name
	Actor              company.ActorParams
	Company            *dialect.Company // the one that the last Serve used
	End                func()           // stops the listener of the last Serve
}

// New creates a company of workers.
func New(t *testing.T, agents ...Agent) *Stage {
	t.Helper()
	base := workspace.Canonical(t.TempDir())
	s := &Stage{
		T: t, Dir: filepath.Join(base, "ws"), Repo: filepath.Join(base, "repo"), Agents: map[string]string{},
		Actor: company.ActorParams{ActorID: "human", ActorRole: "human"},
	}
	env := workspace.SystemEnv()
	env.LockPatience = Patience
	if err := workspace.Init(t.Context(), env, s.Dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w := Must(workspace.Open(env, s.Dir))
	s.Project = Must(w.NewProject(t.Context(), "P"))
	for _, a := range agents {
		s.Agents[a.Name] = Must(w.NewAgent(t.Context(), workspace.AgentSpec{Name: a.Name, Role: "worker", Provider: a.Provider}))
		if a.Program == "" {
			continue
		}
		file := filepath.Join(s.Dir, workspace.AgentFile(s.Agents[a.Name]))
		Write(t, file, strings.Replace(string(Must(os.ReadFile(file))), "launcher: {}", "launcher: {command_argv_template: ["+Program(t, a.Program)+"]}", 1))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	Write(t, filepath.Join(s.Repo, "src/x.py"), "print(1)\n")
	Git(t, s.Repo, "init", "-q")
	Git(t, s.Repo, "add", ".")
	Git(t, s.Repo, "commit", "-qm", "first")
	c, release := Open(s.Dir, s.Project, io.Discard)
	in := company.Dir{WorkspaceDir: s.Dir}
	Must(dialect.Do(t.Context(), c, workforce.Operations.SetRepoRoot, workforce.RepoRootParams{Dir: in, RepoID: "main", RepoPath: s.Repo}))
	Must(dialect.Do(t.Context(), c, workforce.Operations.LinkRepo, workforce.LinkRepoParams{Dir: in, ProjectID: s.Project, RepoID: "main"}))
	if err := release(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Program links the test binary under another name. The name selects the program that it plays.
func Program(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(Must(os.Executable()), program); err != nil {
		t.Fatal(err)
	}
	return program
}

// Open opens a company as a process does, with terminals enabled. The caller must call release.
func Open(dir, project string, log io.Writer) (c *dialect.Company, release func() error) {
	env := workspace.SystemEnv()
	env.LockPatience = Patience
	hub := feed.NewHub(nil, env.Clock, env.IDs.New)
	host := company.New(company.Options{Env: env, Executable: Must(os.Executable()), Hub: hub, Stderr: log, Version: "test", Terminals: true})
	return &dialect.Company{
			Host: host, Dir: dir, ProjectID: project, Version: "test", Clock: env.Clock, Log: slog.New(slog.NewTextHandler(log, nil)),
			Actor: company.ActorParams{ActorID: "human", ActorRole: "human"},
		}, func() error {
			hub.Close()
			return host.Close()
		}
}

// Serve makes a listener of the company with listen, and serves it until End or the end of the
// test.
func (s *Stage) Serve(listen func(c *dialect.Company) (serve func(context.Context) error)) {
	s.T.Helper()
	c, release := Open(s.Dir, s.Project, io.Discard)
	c.Actor, s.Company = s.Actor, c
	serve := listen(c)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx) }()
	done := false
	end := func() {
		if done {
			return
		}
		done = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				s.T.Error(err)
			}
		case <-time.After(Patience):
			s.T.Error("the listener does not end")
		}
		if err := release(); err != nil {
			s.T.Error(err)
		}
	}
	s.End = end
	s.T.Cleanup(end)
}
