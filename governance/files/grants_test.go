package files

// Who may apply files, and to which targets.

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	if err != nil || strings.Count(string(text), `"resource_kind":"file_artifact"`) != 9 { // two for each of four denials, one for the success
		t.Errorf("%s, %v", text, err)
	}
}

// TestTheSameRequest checks that a request with the same client_ref is idempotent: it gets the
// same result and writes once.
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
	if _, err := s.Apply(t.Context(), s.all(t, run)); err != nil { // the default target is the run's repository
		t.Errorf("%v", err)
	}
	if tree(t, s.repo)["a.txt"] != "into the worktree\n" {
		t.Error("it went elsewhere")
	}
}

// answered writes a job whose answer is one new file for repo, and returns the file's id. If repo
// is "", the job names no repository.
func (s *stage) answered(t *testing.T, job, repo, name string) (id string) {
	t.Helper()
	dir := filepath.Join(s.dir, workspace.JobDir(s.project, job))
	put(t, dir, "job.yaml", jobRecord(s.dir, s.project))
	if repo != "" {
		put(t, dir, "order.json", `{"place":{"repo_id":"`+repo+`","isolation":"none"}}`)
	}
	id = ID(job, name)
	text, err := json.Marshal(map[string]any{
		"schema_version": 1, "type": "job_answer", "job_id": job, "attempt_run_id": "run_none", "kind": "files",
		"answer": map[string]any{"summary": "s", "files": []any{map[string]any{"path": name, "content": "n\n"}}},
		"files":  []any{map[string]any{"id": id, "path": name, "from_sha256": nil}},
	})
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "answer.json", string(text))
	return id
}

// TestTargetOfSeveral checks that files made for several repositories have no default target, in
// any order.
func TestTargetOfSeveral(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	unknown, second := s.answered(t, "job_1", "", "x.txt"), resolved(t)
	here := s.answered(t, "job_2", "repo", "y.txt")
	o := s.order()
	o.Wanted = Wanted{IDs: []string{unknown, here}}
	if preview, err := s.Preview(t.Context(), s.project, o.Wanted); err != nil || preview.Target.RepoID != "repo" {
		t.Errorf("the only repository is the default of both: %+v, %v", preview, err)
	}
	if _, err := s.Workspace.SetRepoRoot(t.Context(), "other", second, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Workspace.LinkRepo(t.Context(), s.project, "other", ""); err != nil {
		t.Fatal(err)
	}
	s.Service = s.service(t, s.Workspace)
	there := s.answered(t, "job_3", "other", "z.txt")
	for _, ids := range [][]string{{here, there}, {there, here}, {unknown, here}, {unknown, there}, {unknown}} {
		o.Wanted = Wanted{IDs: ids}
		_, err := s.Apply(t.Context(), o)
		told, _ := errors.AsType[*fault.Error](err)
		if told == nil || told.Reason != fault.TargetAmbiguous {
			t.Errorf("%v: %v", ids, err)
			continue
		}
		if data, _ := told.Data.(Candidates); !slices.Equal(slices.Sorted(slices.Values(data.RepoIDs)), []string{"other", "repo"}) {
			t.Errorf("%v: %+v", ids, told.Data)
		}
	}
	if len(tree(t, second)) != 0 || !maps.Equal(tree(t, s.repo), base()) {
		t.Errorf("%q, %q", tree(t, second), tree(t, s.repo))
	}
	o.Wanted = Wanted{IDs: []string{here, there}, Target: checkpoint.Target{RepoID: "other"}}
	if done, err := s.Apply(t.Context(), o); err != nil || done.Applied != 2 || len(tree(t, second)) != 2 {
		t.Errorf("a named target: %+v, %v", done, err)
	}
	o.Wanted = Wanted{IDs: []string{there}}
	if preview, err := s.Preview(t.Context(), s.project, o.Wanted); err != nil || preview.Target.RepoID != "other" {
		t.Errorf("the one it was made for: %+v, %v", preview, err)
	}
}
