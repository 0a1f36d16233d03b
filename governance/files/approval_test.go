package files

// Files that need a human's approval.

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/governance"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/workspace"
)

// guarded makes the project require a human's approval for its files.
func (s *stage) guarded(t *testing.T) {
	t.Helper()
	name := filepath.Join(s.dir, workspace.ProjectFile(s.project))
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s.dir, workspace.ProjectFile(s.project), string(text)+"file_artifacts:\n  approval: required\n")
}

func waiting(t *testing.T, err error) string {
	t.Helper()
	told, ok := errors.AsType[*fault.Error](err)
	if !ok || told.Reason != fault.ApprovalRequired {
		t.Fatalf("%v", err)
	}
	return told.Data.(Waiting).ArtifactID
}

func TestApproval(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.guarded(t)
	run := s.agentWorks(t)
	o := s.all(t, run)
	o.Actor = policy.Actor{ID: "mia", Role: "manager"}
	_, err := s.Apply(t.Context(), o)
	id := waiting(t, err)
	if !maps.Equal(tree(t, s.repo), base()) {
		t.Errorf("%q", tree(t, s.repo))
	}
	if _, err := s.Apply(t.Context(), o); waiting(t, err) != id {
		t.Error("the same files wait twice")
	}
	ruling := governance.Ruling{Item: governance.Item{ProjectID: s.project, ArtifactID: id}, Decision: governance.Approved, Actor: o.Actor}
	if _, err := s.Resolve(t.Context(), ruling); !fault.Is(err, fault.Denied) {
		t.Errorf("the manager approves: %v", err)
	}
	ruling.Actor = human()
	done, err := s.Resolve(t.Context(), ruling)
	if err != nil || done.CheckpointID == "" || done.ReviewID == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := tree(t, s.repo); got["new/c.txt"] != "three\n" || got["gone.txt"] != "" {
		t.Errorf("%q", got)
	}
	if _, err := s.Resolve(t.Context(), ruling); !fault.Is(err, fault.Conflict) {
		t.Errorf("again: %v", err)
	}
	log, err := os.ReadFile(filepath.Join(s.dir, workspace.LogFile(s.project, run)))
	for _, kind := range []string{"artifact.produced", "artifact.applied", "approval.decided"} {
		if strings.Count(string(log), `"type":"`+kind+`"`) != 1 || err != nil {
			t.Errorf("%s: %s, %v", kind, log, err)
		}
	}
	if _, err := s.Revert(t.Context(), Undo{ProjectID: s.project, CheckpointID: done.CheckpointID, Actor: o.Actor}); err != nil {
		t.Errorf("a manager takes it back: %v", err)
	}
	// Each checkpoint records the proposal that it applied or the checkpoint that it reverts.
	list, err := Checkpoints(s.Workspace, s.project, 9, nil)
	if err != nil || len(list) != 2 || list[1].Proposal != id || list[1].Reverts != "" || list[0].Reverts != done.CheckpointID || list[0].Proposal != "" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestApprovalDenied(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.guarded(t)
	if _, err := s.Apply(t.Context(), s.order(file("sub/b.txt", "by a human\n"))); err != nil {
		t.Errorf("a human applies: %v", err)
	}
	o := s.order(file("a.txt", "new\n"), file(".git/config", "x"))
	o.Actor = policy.Actor{ID: "mia", Role: "director"}
	if _, err := s.Apply(t.Context(), o); !fault.Is(err, fault.FilesRefused) {
		t.Errorf("%v", err)
	}
	o.Skip = true
	_, err := s.Apply(t.Context(), o)
	ruling := governance.Ruling{Item: governance.Item{ProjectID: s.project, ArtifactID: waiting(t, err)}, Decision: governance.Denied, Actor: human()}
	first, err := s.Resolve(t.Context(), ruling)
	if err != nil || first.ReviewID == "" || first.CheckpointID != "" {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := s.Resolve(t.Context(), ruling); err != nil || again.ReviewID != first.ReviewID {
		t.Errorf("%+v, %v", again, err)
	}
	if got := tree(t, s.repo)["a.txt"]; got != base()["a.txt"] {
		t.Errorf("%q", got)
	}
	o.Actor = policy.Actor{ID: "w", Role: "worker"}
	if _, err := s.Apply(t.Context(), o); !fault.Is(err, fault.Denied) {
		t.Errorf("a worker: %v", err)
	}
	// An approval does not overwrite a file that changed since the proposal.
	o.Actor = policy.Actor{ID: "mia", Role: "manager"}
	_, err = s.Apply(t.Context(), o)
	ruling.ArtifactID, ruling.Decision = waiting(t, err), governance.Approved
	put(t, s.repo, "a.txt", "mine\n")
	if _, err := s.Resolve(t.Context(), ruling); err != nil {
		t.Errorf("%v", err)
	}
	if got := tree(t, s.repo)["a.txt"]; got != "mine\n" {
		t.Errorf("%q", got)
	}
}
