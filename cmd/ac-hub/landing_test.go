package main

// Landing the work of a session on another machine in the repository here.

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	operations "ac/company"
	"ac/company/decisions"
	"ac/fleet"
	"ac/governance/files"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// repository is a git repository of the workspace, with its operations.
type repository struct {
	*company
	root string
	all  *operations.Host
	dir  operations.Dir
}

func (c *company) repository() *repository {
	c.t.Helper()
	r := &repository{company: c, root: workspace.Canonical(c.t.TempDir()), dir: operations.Dir{WorkspaceDir: c.w.Dir()}}
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.name", "Ann")
	r.git("config", "user.email", "ann@example.org")
	r.write("kept.txt", "one\ntwo\nthree\n")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "first")
	if err := c.w.UpdateMachine(c.t.Context(), func(m *doc.Machine) { m.RepoRoots = map[string]string{"shop": r.root} }); err != nil {
		c.t.Fatal(err)
	}
	r.all = operations.New(operations.Options{Env: workspace.SystemEnv(), Executable: filepath.Join(c.bin, "ac")})
	c.t.Cleanup(func() {
		if err := r.all.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", append([]string{"-C", r.root, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.root, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.root, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(text)
}

// worked runs a script in a worktree on another machine.
func (r *repository) worked(script string) session.Order {
	r.t.Helper()
	order := r.order("set -e; git config user.name w; git config user.email w@b; "+script, nil)
	order.RepoID, order.Worktree = "shop", &session.Worktree{Owner: order.RunID, Run: order.RunID, Base: r.git("rev-parse", "HEAD")}
	r.ask(fleet.HubPlace, fleet.PlaceRequest{Order: order, Placement: fleet.Placement{Where: fleet.WhereRemote}}, nil)
	if record := r.collect(order); record.Status != doc.StatusEnded {
		r.t.Fatalf("%s: %s", record.Status, record.Error)
	}
	if types, _ := r.log(order); count(types, "worker.results") != 1 || count(types, "worker.results_failed") != 0 {
		r.t.Fatalf("its results: %v", types)
	}
	return order
}

func (r *repository) land(order session.Order) (files.Landing, error) {
	return operations.Do(r.t.Context(), r.all, decisions.Operations.LandRun, decisions.LandRunParams{Dir: r.dir, ProjectID: r.project, RunID: order.RunID, Message: "Work of " + order.RunID})
}

func (r *repository) proposed(order session.Order) (ids, paths []string) {
	r.t.Helper()
	list, err := operations.Do(r.t.Context(), r.all, decisions.Operations.ListFiles, decisions.ListFilesParams{Dir: r.dir, ProjectID: r.project, RunID: order.RunID})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, row := range list.Files {
		if row.Problem == "" {
			ids = append(ids, row.ID)
		}
		paths = append(paths, strings.TrimSuffix(row.Path+" "+row.Action+" "+row.Problem, " "))
	}
	return ids, paths
}

// TestWorkOfAnotherMachineLands checks that committed and uncommitted work lands here as one
// commit, once. A conflict is reported and changes nothing.
func TestWorkOfAnotherMachineLands(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.hire("box", 2)
	r := c.repository()
	base := r.git("rev-parse", "HEAD")
	done := r.worked(`echo committed > new.txt; git add new.txt; git commit -q -m over-there; printf 'one\nTWO\nthree\n' > kept.txt; echo left > left.txt`)
	rival := r.worked(`printf 'one\nother\nthree\n' > kept.txt`)
	if r.git("rev-parse", "HEAD") != base || r.git("status", "--porcelain") != "" {
		t.Fatal("results alone changed the checkout")
	}
	_, paths := r.proposed(done)
	if want := []string{"kept.txt modify", "left.txt create", "new.txt create"}; !slices.Equal(paths, want) {
		t.Errorf("it proposes %q, want %q", paths, want)
	}
	landed, err := r.land(done)
	if err != nil || landed.Commit == nil || landed.Already || landed.Branch != "main" || landed.Files != 3 {
		t.Fatalf("%+v: %v", landed, err)
	}
	if head := r.git("rev-parse", "HEAD"); head != *landed.Commit || r.git("rev-parse", "HEAD^") != base {
		t.Errorf("main is at %s", head)
	}
	if r.read("new.txt") != "committed\n" || r.read("left.txt") != "left\n" || r.read("kept.txt") != "one\nTWO\nthree\n" {
		t.Errorf("the checkout has %q, %q, %q", r.read("new.txt"), r.read("left.txt"), r.read("kept.txt"))
	}
	if again, err := r.land(done); err != nil || !again.Already {
		t.Errorf("again: %+v: %v", again, err)
	}
	refused, err := r.land(rival)
	if !fault.Is(err, fault.Conflicts) || !strings.Contains(err.Error(), "kept.txt") {
		t.Errorf("a conflict: %+v: %v", refused, err)
	}
	if r.git("rev-parse", "HEAD") != *landed.Commit || r.git("status", "--porcelain") != "" {
		t.Error("a conflict changed something")
	}
	if types, _ := r.log(done); count(types, "run.landed") != 1 {
		t.Errorf("told: %v", types)
	}
}

// TestFilesOfAnotherMachineApply checks that proposed files are written into the checkout. If one
// conflicts with a local change, all are refused.
func TestFilesOfAnotherMachineApply(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.hire("box", 2)
	r := c.repository()
	order := r.worked(`echo new > new.txt; printf 'one\nTWO\nthree\n' > kept.txt`)
	ids, _ := r.proposed(order)
	apply := func() (files.Result, error) {
		return operations.Do(t.Context(), r.all, decisions.Operations.ApplyFiles, decisions.ApplyFilesParams{
			Dir: r.dir, ProjectID: r.project, WantedFiles: decisions.WantedFiles{ArtifactIDs: ids},
		})
	}
	r.write("kept.txt", "one\nmine\nthree\n")
	if result, err := apply(); !fault.Is(err, fault.FilesRefused) || r.read("new.txt") != "" || r.read("kept.txt") != "one\nmine\nthree\n" {
		t.Errorf("with a conflict: %+v: %v", result, err)
	}
	r.write("kept.txt", "one\ntwo\nthree\n")
	result, err := apply()
	if err != nil || result.Applied != 2 || result.CheckpointID == nil {
		t.Fatalf("%+v: %v", result, err)
	}
	if r.read("new.txt") != "new\n" || r.read("kept.txt") != "one\nTWO\nthree\n" {
		t.Errorf("the checkout has %q, %q", r.read("new.txt"), r.read("kept.txt"))
	}
}
