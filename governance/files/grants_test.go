package files

// Who may apply, and what a target must be.

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/governance/policy"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/checkpoint"
)

func TestWhoMay(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	agent, err := s.Workspace.NewAgent(t.Context(), workspace.AgentSpec{Name: "W", Role: "worker", Provider: "cmd"})
	if err != nil {
		t.Fatal(err)
	}
	for _, actor := range []policy.Actor{{ID: "w", Role: "worker"}, {ID: agent, Role: "human"}} {
		for _, dry := range []bool{false, true} {
			o := s.order(file("a.txt", "x"))
			o.Actor, o.DryRun = actor, dry
			if _, err := s.Apply(t.Context(), o); !fault.Is(err, fault.Denied) {
				t.Errorf("%+v: %v", actor, err)
			}
		}
	}
	if !maps.Equal(tree(t, s.repo), base()) {
		t.Errorf("%q", tree(t, s.repo))
	}
	o := s.order(file("a.txt", "x"))
	o.Actor = policy.Actor{ID: "m", Role: "manager"}
	if _, err := s.Apply(t.Context(), o); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, workspace.AuditLog))
	if err != nil || strings.Count(string(text), `"resource_kind":"file_artifact"`) != 9 { // four denials of two events each
		t.Errorf("%s, %v", text, err)
	}
}

// TestTheSameRequest answers a client_ref twice with the same and writes once.
func TestTheSameRequest(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.order(file("a.txt", "x"))
	o.ClientRef = "r1"
	first, err := s.Apply(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s.repo, "a.txt", "mine\n")
	again, err := s.service(t, s.open(t, workspace.SystemEnv())).Apply(t.Context(), o)
	if err != nil || again.CheckpointID == nil || *again.CheckpointID != *first.CheckpointID || again.Applied != 1 {
		t.Errorf("%+v, %v", again, err)
	}
	if got := tree(t, s.repo)["a.txt"]; got != "mine\n" {
		t.Errorf("it was written twice: %q", got)
	}
	o.Wanted = Wanted{Given: []Proposal{file("a.txt", "y")}}
	if other, err := s.Apply(t.Context(), o); err != nil || *other.CheckpointID == *first.CheckpointID {
		t.Errorf("other content: %+v, %v", other, err)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run, dir := s.run(t)
	o := s.order(file("a.txt", "into the worktree\n"))
	o.Wanted.Target = checkpoint.Target{RunID: run}
	s.alive[run] = true
	if _, err := s.Apply(t.Context(), o); !fault.Is(err, fault.TargetBusy) {
		t.Errorf("a live session: %v", err)
	}
	s.alive[run] = false
	if _, err := s.Apply(t.Context(), o); err != nil {
		t.Errorf("%v", err)
	}
	if got := tree(t, dir)["a.txt"]; got != "into the worktree\n" || tree(t, s.repo)["a.txt"] != base()["a.txt"] {
		t.Errorf("%q", got)
	}
	o.Wanted.Target = checkpoint.Target{RepoID: "none"}
	if _, err := s.Apply(t.Context(), o); !fault.Is(err, fault.NoTarget) {
		t.Errorf("%v", err)
	}
	other := resolved(t)
	if _, err := s.Workspace.SetRepoRoot(t.Context(), "other", other, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Workspace.LinkRepo(t.Context(), s.project, "other", ""); err != nil {
		t.Fatal(err)
	}
	s.Service = s.service(t, s.Workspace)
	_, err := s.Apply(t.Context(), s.order(file("a.txt", "x")))
	if !fault.Is(err, fault.TargetAmbiguous) {
		t.Errorf("%v", err)
	}
	if _, err := s.Apply(t.Context(), s.all(t, run)); err != nil { // made for the one that the run is of
		t.Errorf("%v", err)
	}
	if tree(t, s.repo)["a.txt"] != "into the worktree\n" {
		t.Error("it went elsewhere")
	}
}
