package worktree_test

// Shared test helpers: the test binary as supervisor and guard, workspaces, and repositories
// created by the real git.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/internal/proc/proctest"
	"ac/internal/runtimetest"
	"ac/runs"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
	"ac/workspace/doc"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.SuperviseCommand:
			self, err := os.Executable()
			if err == nil {
				err = supervisor.Main(self, os.Stdin, os.Stdout, nil)
			}
			exit(err)
		case session.GuardCommand:
			exit(session.RunGuard())
		}
	}
	runtimetest.InMemory()
	// Put session sockets where they are removed again, and keep git from reading the user's
	// configuration.
	dir, err := os.MkdirTemp("", "ac")
	if err != nil {
		exit(err)
	}
	for name, value := range map[string]string{"XDG_RUNTIME_DIR": dir, "HOME": dir, "XDG_CONFIG_HOME": dir} {
		if err := os.Setenv(name, value); err != nil {
			exit(err)
		}
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		code = 1
	}
	os.Exit(code)
}

func exit(err error) {
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// git runs git as a developer would.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository creates a repository with one commit of a.txt and sub/b.txt.
func repository(t *testing.T) string {
	t.Helper()
	dir := resolved(t, t.TempDir())
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	put(t, filepath.Join(dir, "a.txt"), "one\n")
	put(t, filepath.Join(dir, "sub", "b.txt"), "two\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "-m", "First")
	return dir
}

func resolved(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := proctest.WriteProgram(file, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// house is a workspace with a project.
type house struct {
	*workspace.Workspace
	project string
}

func newHouse(t *testing.T) house {
	t.Helper()
	dir := filepath.Join(resolved(t, t.TempDir()), "ws")
	env := workspace.SystemEnv()
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	project, err := w.NewProject(t.Context(), "Checkout")
	if err != nil {
		t.Fatal(err)
	}
	return house{w, project}
}

func (h house) mapRepo(t *testing.T, repo, root string) {
	t.Helper()
	if _, err := h.SetRepoRoot(t.Context(), repo, root, false); err != nil {
		t.Fatal(err)
	}
}

// task writes a task with the milestones ms_code and ms_plan.
func (h house) task(t *testing.T, id, scope string) {
	t.Helper()
	text := "---\nschema_version: 1\ntype: task\nid: " + id + "\nproject_id: " + h.project +
		"\ntitle: T\ncreated_at: 2026-11-20T14:59:45.848Z\nstatus: draft\nvisibility: team\n" + scope + `milestones:
  - {id: ms_code, title: C, kind: coding, status: ready, acceptance_criteria: []}
  - {id: ms_plan, title: P, kind: planning, status: ready, acceptance_criteria: []}
---

## Contract

## Milestones
`
	put(t, filepath.Join(h.Dir(), workspace.TasksDir(h.project), id+".md"), text)
}

func (h house) run(t *testing.T) runs.CreateResult {
	t.Helper()
	made, err := runs.Create(t.Context(), h.Workspace, h.project, "agent_ann", "cmd")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (h house) record(t *testing.T, run string) doc.Run {
	t.Helper()
	record, err := runs.Load(h.Workspace, h.project, run)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// launch starts a session through a supervisor process and waits for its end.
func (h house) launch(t *testing.T, order session.Order) doc.Session {
	t.Helper()
	h.begin(t, order)
	return h.collect(t, order.RunID)
}

func (h house) begin(t *testing.T, order session.Order) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	order.WorkspaceDir, order.ProjectID, order.AgentID, order.Provider = h.Dir(), h.project, "agent_ann", "cmd"
	order.SessionRef = session.LocalRef(order.RunID)
	launcher := &session.Launcher{Executable: self, Environ: os.Environ()}
	if err := launcher.Launch(t.Context(), order); err != nil {
		t.Fatal(err)
	}
}

// collect waits for the end of a session and of its supervisor.
func (h house) collect(t *testing.T, run string) doc.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	record, err := session.Collect(ctx, h.Workspace, session.LocalRef(run))
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the supervisor", func() bool { return !session.RunAlive(h.Workspace, h.project, run) })
	return record
}

func await(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !reached(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
