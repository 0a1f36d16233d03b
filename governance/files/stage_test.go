package files

// Shared fixture: a workspace with a repository and a run in a worktree of that repository.

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ac/events"
	"ac/governance/policy"
	"ac/runs"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/checkpoint"
	"ac/workspace/doc"
)

func gitCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.org"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	return cmd
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := gitCommand(dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func resolved(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

type stage struct {
	*Service
	dir, repo, project string
	alive              map[string]bool
}

// base returns the initial files of the repository.
func base() map[string]string {
	return map[string]string{"a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "gone.txt": "bye\n", "sub/b.txt": "two\n"}
}

func newStage(t testing.TB) *stage {
	t.Helper()
	top := resolved(t)
	s := &stage{dir: filepath.Join(top, "ws"), repo: filepath.Join(top, "repo"), alive: map[string]bool{}}
	for name, text := range base() {
		put(t, s.repo, name, text)
	}
	git(t, s.repo, "init", "--quiet", "--initial-branch=main")
	git(t, s.repo, "add", ".")
	git(t, s.repo, "commit", "--quiet", "-m", "First")
	env := workspace.SystemEnv()
	if err := workspace.Init(t.Context(), env, s.dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w := s.open(t, env)
	var err error
	if s.project, err = w.NewProject(t.Context(), "Checkout"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.SetRepoRoot(t.Context(), "repo", s.repo, true); err != nil {
		t.Fatal(err)
	}
	if _, err := w.LinkRepo(t.Context(), s.project, "repo", ""); err != nil {
		t.Fatal(err)
	}
	s.Service = s.service(t, w)
	return s
}

func (s *stage) open(t testing.TB, env workspace.Env) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(env, s.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func (s *stage) service(t testing.TB, w *workspace.Workspace) *Service {
	t.Helper()
	machine, err := w.Machine()
	if err != nil {
		t.Fatal(err)
	}
	return &Service{
		Workspace: w, Machine: machine, Environ: os.Environ(), Memory: NewMemory(),
		Alive: func(_, run string) bool { return s.alive[run] },
	}
}

// run creates a run with a worktree and returns the run's id and the worktree's directory.
func (s *stage) run(t testing.TB) (id, tree string) {
	t.Helper()
	made, err := runs.Create(t.Context(), s.Workspace, s.project, "agent_a", "cmd")
	if err != nil {
		t.Fatal(err)
	}
	place, err := worktree.LocationOf(s.project, "task_a", made.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if tree, err = worktree.Prepare(t.Context(), s.Workspace, os.Environ(), s.repo, place, "HEAD"); err != nil {
		t.Fatal(err)
	}
	file := workspace.RunFile(s.project, made.RunID)
	err = s.Workspace.Update(t.Context(), func(u *workspace.Unit) error {
		r, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil {
			return err
		}
		r.Spec = &doc.Spec{Kind: doc.KindCommand, Argv: []string{"true"}, RepoID: "repo", WorktreeRel: place.Rel, WorktreeBranch: place.Branch}
		r.WorktreeBase = git(t, s.repo, "rev-parse", "HEAD")
		return workspace.Put(u, doc.RunCodec, file, r, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.RunID, tree
}

func human() policy.Actor { return policy.Actor{ID: "human", Role: "human"} }

// order returns an order to apply the given proposals.
func (s *stage) order(given ...Proposal) Order {
	return Order{ProjectID: s.project, Wanted: Wanted{Given: given}, Actor: human()}
}

func file(name, content string) Proposal { return Proposal{Path: name, Content: &content} }

// all returns an order to apply every change of a run.
func (s *stage) all(t testing.TB, run string) Order {
	t.Helper()
	list, err := s.List(t.Context(), s.project, checkpoint.Source{RunID: run})
	if err != nil {
		t.Fatal(err)
	}
	o := s.order()
	for _, row := range list.Files {
		o.Wanted.IDs = append(o.Wanted.IDs, row.ID)
	}
	return o
}

// tree returns the files of a directory by name, without .git.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == ".git" {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if e.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			found[rel] = "-> " + target
			return err
		}
		text, err := os.ReadFile(name)
		found[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// applied returns the log lines that record applied files: those of a run or, if run is "", those
// without one.
func (s *stage) applied(t testing.TB, run string) (lines []string) {
	t.Helper()
	log := workspace.FilesLog
	if run != "" {
		log = workspace.LogFile(s.project, run)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, log))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, `"`+events.ArtifactApplied+`"`) && strings.HasSuffix(line, "\n") {
			lines = append(lines, line)
		}
	}
	return lines
}
