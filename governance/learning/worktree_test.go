package learning

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ac/pm"
	"ac/workspace"
	"ac/workspace/doc"
)

// gitRepo creates a repository with one commit.
func gitRepo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, words := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "T"}, {"config", "user.email", "t@example.org"}, {"commit", "-q", "--allow-empty", "-m", "one"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", words...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", words, err, out)
		}
	}
	return dir
}

// TestEvaluationOfAMilestone checks where a milestone is evaluated. A coding milestone uses a
// worktree of the run, so the repository stays unchanged. Others use the repository itself.
func TestEvaluationOfAMilestone(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	repo := gitRepo(t)
	if err := c.UpdateMachine(t.Context(), func(m *doc.Machine) { m.RepoRoots["repo"] = repo }); err != nil {
		t.Fatal(err)
	}
	task, err := pm.NewTask(t.Context(), c.Workspace, c.project, pm.TaskSpec{Title: "T", Visibility: "org"})
	if err != nil {
		t.Fatal(err)
	}
	coding, err := pm.AddMilestone(t.Context(), c.Workspace, c.project, task, doc.Milestone{Title: "M", Kind: "coding"})
	if err != nil {
		t.Fatal(err)
	}
	research, err := pm.AddMilestone(t.Context(), c.Workspace, c.project, task, doc.Milestone{Title: "R", Kind: "research"})
	if err != nil {
		t.Fatal(err)
	}
	for key, milestone := range map[string]string{"coding": coding, "research": research} {
		want := c.improvement(key, "sh", "-c", "git rev-parse --show-toplevel && : > mark-"+key)
		want.RepoID, want.TaskID, want.MilestoneID = "repo", task, milestone
		got := c.improve(t, want)
		if got.Status != ProposalCreated {
			t.Fatalf("%s: %+v", key, got)
		}
		run, err := workspace.Load(c.Workspace, doc.RunCodec, workspace.RunFile(c.project, got.RunID))
		if err != nil || run.Spec == nil {
			t.Fatalf("%s: %+v (%v)", key, run, err)
		}
		text, err := c.Read(workspace.RunDir(c.project, got.RunID) + "/outputs/stdout.txt")
		if err != nil {
			t.Fatal(err)
		}
		dir, isolated := strings.TrimSpace(string(text)), key == "coding"
		place := filepath.Join(c.Dir(), ".local", "worktrees", c.project)
		if strings.HasPrefix(dir, place) != isolated || (run.Spec.WorktreeRel != "") != isolated || (dir == repo) == isolated {
			t.Errorf("%s was evaluated in %s: %+v", key, dir, run.Spec)
		}
		if marks, err := filepath.Glob(filepath.Join(dir, "mark-*")); err != nil || len(marks) != 1 || filepath.Base(marks[0]) != "mark-"+key {
			t.Errorf("%s left %v (%v)", key, marks, err)
		}
	}
	c.sound(t)
}
