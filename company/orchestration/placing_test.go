package orchestration

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ac/company"
	"ac/fleet"
	"ac/fleet/fleettest"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
)

// yard is a workspace with a project, an agent and a git repository.
type yard struct {
	c             Operations
	project, repo string
	agent         string
	head          string
}

func newYard(t *testing.T) *yard {
	t.Helper()
	dir, repo := filepath.Join(t.TempDir(), "ws"), t.TempDir()
	env := workspace.SystemEnv()
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
		t.Fatal(err)
	}
	all := company.New(company.Options{Env: env, Executable: os.Args[0]})
	t.Cleanup(func() { _ = all.Close() })
	c, err := all.In(dir).Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{c: Operations{company.In{Company: c}}, repo: repo}
	if y.project, err = c.Workspace().NewProject(t.Context(), "P"); err == nil {
		y.agent, err = c.Workspace().NewAgent(t.Context(), workspace.AgentSpec{Name: "Ann", Role: "worker", Provider: "cmd"})
	}
	if err == nil {
		err = c.Workspace().UpdateMachine(t.Context(), func(m *doc.Machine) {
			m.RepoRoots = map[string]string{"repo": repo, "plain": t.TempDir()}
			m.ModelProfiles = map[string]doc.ModelProfile{
				"kept": {Provider: "anthropic", Model: "m", APIKey: "a-key-of-a-person"},
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "one")
	y.head = git("rev-parse", "HEAD")
	git("tag", "first")
	git("commit", "-q", "--allow-empty", "-m", "two")
	return y
}

func (y *yard) start(p *doc.Placement, change func(*StartRunParams)) StartRunParams {
	s := StartRunParams{ProjectID: y.project, AgentID: y.agent}
	s.Argv, s.Placement, s.LanePriority = []string{"there-alone"}, p, "normal"
	s.By("human", "human", "")
	if change != nil {
		change(&s)
	}
	return s
}

// TestPlacementRefusals checks that parameters that another machine cannot honor are refused before
// anything is created, for "remote" and for "any".
func TestPlacementRefusals(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	for field, change := range map[string]func(*StartRunParams){
		"env.API_KEY":          func(p *StartRunParams) { p.Env = map[string]string{"API_KEY": "x", "A": "b"} },
		"repo_id":              func(p *StartRunParams) { p.RepoID = "plain" },
		"isolation":            func(p *StartRunParams) { p.RepoID, p.Isolation = "repo", runs.IsolationNone },
		"mcp_launch_jobs":      func(p *StartRunParams) { p.MCPLaunchJobs = new(true) },
		"placement.source.ref": func(p *StartRunParams) { p.RepoID, p.Placement.Source = "repo", &doc.Source{Ref: "none"} },
	} {
		for _, where := range []string{doc.WhereRemote, doc.WhereAny} {
			_, err := y.c.StartRun(t.Context(), y.start(&doc.Placement{Where: where}, change))
			var issues []fault.Issue
			if e, ok := errors.AsType[*fault.Error](err); ok {
				issues = e.Issues
			}
			if len(issues) != 1 || issues[0].Field() != field {
				t.Errorf("%s of %s: %v %v", field, where, issues, err)
			}
		}
	}
	if _, err := y.c.StartRun(t.Context(), y.start(&doc.Placement{Where: doc.WhereRemote}, nil)); !fault.Is(err, fault.HubNotRunning) {
		t.Errorf("without a hub: %v", err)
	}
	if list, err := runs.List(y.c.Workspace(), y.project); err != nil || len(list) != 0 {
		t.Errorf("%d runs were made: %v", len(list), err)
	}
}

// TestPlacementOf checks the precedence of placements: the caller's, then the agent's, then the
// hub's. Each counts as a whole.
func TestPlacementOf(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	where := func(given *doc.Placement) string {
		t.Helper()
		p, err := fleet.PlacementOf(y.c.Workspace(), y.agent, given)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			return "none"
		}
		return p.Where
	}
	if got := where(nil); got != "none" {
		t.Errorf("with nothing said: %s", got)
	}
	config := "schema_version: 1\ntype: hub\nhub_id: abcdefghij\ncarrier: embedded\nsettings:\n  default_placement:\n    where: any\n"
	if err := os.MkdirAll(filepath.Join(y.c.Workspace().Dir(), filepath.FromSlash(fleet.HubDir)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := y.c.Workspace().Replace(fleet.ConfigFile, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := where(nil); got != doc.WhereAny {
		t.Errorf("with the hub's: %s", got)
	}
	file := workspace.AgentFile(y.agent)
	text, err := os.ReadFile(filepath.Join(y.c.Workspace().Dir(), filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Replace(string(text), "launcher: {}\n", "launcher:\n  placement:\n    where: remote\n", 1)
	if err := y.c.Workspace().Replace(file, []byte(said), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := where(nil); got != doc.WhereRemote {
		t.Errorf("with the agent's: %s", got)
	}
	if got := where(&doc.Placement{Where: doc.WhereLocal}); got != doc.WhereLocal {
		t.Errorf("with the caller's: %s", got)
	}
	if err := y.c.Workspace().Replace(file, []byte(strings.Replace(said, "remote", "moon", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.PlacementOf(y.c.Workspace(), y.agent, nil); !fault.Is(err, fault.InvalidFile) {
		t.Errorf("with a wrong word: %v", err)
	}
}

// TestPlacedByTheHub checks the request to the hub: it has all that the worker needs, with the
// commit resolved. The program is not looked up on this machine.
func TestPlacedByTheHub(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	placed := make(chan fleet.PlaceRequest, 1)
	fleettest.Start(t, y.c.Workspace(), func(verb string, params json.RawMessage) (any, error) {
		var p fleet.PlaceRequest
		if err := json.Unmarshal(params, &p); err != nil || verb != fleet.HubPlace {
			t.Errorf("%s: %v", verb, err)
		}
		placed <- p
		return nil, fault.New(fleet.NoWorker, "no worker fits").With(fleet.NoWorkerData{Workers: []fleet.UnfitWorker{{WorkerID: "w", Name: "box", Why: "labels"}}})
	})
	p := &doc.Placement{Where: doc.WhereRemote, Labels: []string{"gpu"}, Source: &doc.Source{Ref: "first"}, WaitS: new(int64(0))}
	_, err := y.c.StartRun(t.Context(), y.start(p, func(s *StartRunParams) { s.RepoID = "repo" }))
	if !fault.Is(err, fleet.NoWorker) || !strings.Contains(err.Error(), "no worker fits") {
		t.Errorf("%v", err)
	}
	got := <-placed
	if got.Placement.Labels[0] != "gpu" || got.Placement.Wait() != 0 || got.Order.Worktree == nil || got.Order.Worktree.Base != y.head || got.Order.Argv[0] != "there-alone" {
		t.Errorf("%+v %+v", got.Placement, got.Order.Worktree)
	}
	if got.Order.New == nil || len(got.Order.Environ) != 0 {
		t.Errorf("the order has this machine's environment: %q", got.Order.Environ)
	}
	if list, err := runs.List(y.c.Workspace(), y.project); err != nil || len(list) != 0 {
		t.Errorf("%d runs were made: %v", len(list), err)
	}
}
