package files

// Applying and reverting proposed files of runs, callers and jobs.

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/checkpoint"
)

func (s *stage) agentWorks(t testing.TB) (run string) {
	t.Helper()
	run, dir := s.run(t)
	put(t, dir, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	put(t, dir, "new/c.txt", "three\n")
	if err := os.Remove(filepath.Join(dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	return run
}

func TestApplyARun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run := s.agentWorks(t)
	preview, err := s.Preview(t.Context(), s.project, s.all(t, run).Wanted)
	if err != nil {
		t.Fatal(err)
	}
	actions := map[string]string{}
	for _, row := range preview.Files {
		actions[row.Path] = row.Action
		if row.Source.RunID != run || row.Diff == "" || row.ID != ID(run, row.Path) {
			t.Errorf("%+v", row)
		}
	}
	if !maps.Equal(actions, map[string]string{"a.txt": "modify", "new/c.txt": "create", "gone.txt": "delete"}) {
		t.Errorf("%v", actions)
	}
	done, err := s.Apply(t.Context(), Order{ProjectID: s.project, Wanted: Wanted{PreviewID: preview.PreviewID}, Actor: human()})
	if err != nil || done.Applied != 3 || done.CheckpointID == nil {
		t.Fatalf("%+v, %v", done, err)
	}
	want := map[string]string{"a.txt": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "new/c.txt": "three\n", "sub/b.txt": "two\n"}
	if got := tree(t, s.repo); !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if told := s.applied(t, run); len(told) != 1 || !strings.Contains(told[0], *done.CheckpointID) {
		t.Errorf("%q", told)
	}
	// The same order again is a no-op.
	again, err := s.Apply(t.Context(), s.all(t, run))
	if err != nil || again.Skipped != 3 || again.CheckpointID != nil {
		t.Errorf("%+v, %v", again, err)
	}
	s.revertTwice(t, *done.CheckpointID, want)
}

// revertTwice reverts a checkpoint, and then reverts the revert.
func (s *stage) revertTwice(t *testing.T, id string, after map[string]string) {
	t.Helper()
	undone, err := s.Revert(t.Context(), Undo{ProjectID: s.project, CheckpointID: id, Actor: human()})
	if err != nil || undone.Reverted != 3 {
		t.Fatalf("%+v, %v", undone, err)
	}
	if got := tree(t, s.repo); !maps.Equal(got, base()) {
		t.Errorf("reverted: %q", got)
	}
	if _, err := s.Revert(t.Context(), Undo{ProjectID: s.project, CheckpointID: id, Actor: human()}); !fault.Is(err, fault.RevertedAlready) {
		t.Errorf("again: %v", err)
	}
	if _, err := s.Revert(t.Context(), Undo{ProjectID: s.project, CheckpointID: *undone.CheckpointID, Actor: human()}); err != nil {
		t.Errorf("the revert of the revert: %v", err)
	}
	if got := tree(t, s.repo); !maps.Equal(got, after) {
		t.Errorf("and back: %q", got)
	}
	list, err := Checkpoints(s.Workspace, s.project, 50, nil)
	if err != nil || len(list) != 3 || list[0].State != checkpoint.Applied || list[1].State != Reverted || list[2].State != Reverted {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := s.Revert(t.Context(), Undo{ProjectID: s.project, CheckpointID: "cp_none", Actor: human()}); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such checkpoint: %v", err)
	}
}

// TestAPersonsEdits checks that a person's edits elsewhere in a file are merged, and that edits of
// the same place are refused as a conflict.
func TestAPersonsEdits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run := s.agentWorks(t)
	put(t, s.repo, "a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
	list, err := s.List(t.Context(), s.project, checkpoint.Source{RunID: run})
	if err != nil || !list.Files[0].Merged || list.Files[0].Added != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	o := s.all(t, run)
	o.Wanted.IDs = o.Wanted.IDs[:1]
	if done, err := s.Apply(t.Context(), o); err != nil || done.Applied != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := tree(t, s.repo)["a.txt"]; got != "one\n2\n3\n4\n5\n6\n7\n8\nnine\n" {
		t.Errorf("%q", got)
	}
	put(t, s.repo, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nIX\n")
	put(t, s.repo, "new/c.txt", "mine\n")
	put(t, s.repo, "gone.txt", "stays\n")
	before := tree(t, s.repo)
	_, err = s.Apply(t.Context(), s.all(t, run))
	if fault.ReasonOf(err) != fault.FilesRefused || !maps.Equal(tree(t, s.repo), before) {
		t.Errorf("%v: %q", err, tree(t, s.repo))
	}
	o = s.all(t, run)
	o.Skip = true
	done, err := s.Apply(t.Context(), o)
	if err != nil || done.Applied != 0 || len(done.Errors) != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, problem := range done.Errors {
		if problem.Reason != Conflict {
			t.Errorf("%+v", problem)
		}
	}
}

// TestACallersContent checks that a caller's content replaces the whole file. If it carries an
// artifact's id, it is merged instead.
func TestACallersContent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	run := s.agentWorks(t)
	put(t, s.repo, "a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
	edited := file("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nedited\n")
	edited.ID = ID(run, "a.txt")
	if done, err := s.Apply(t.Context(), s.order(edited)); err != nil || !done.Files[0].Merged || done.Files[0].Source.RunID != run {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := tree(t, s.repo)["a.txt"]; got != "one\n2\n3\n4\n5\n6\n7\n8\nedited\n" {
		t.Errorf("%q", got)
	}
	if done, err := s.Apply(t.Context(), s.order(file("a.txt", "plain\n"))); err != nil || done.Files[0].Merged {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := tree(t, s.repo)["a.txt"]; got != "plain\n" {
		t.Errorf("%q", got)
	}
	if told := s.applied(t, ""); len(told) != 1 {
		t.Errorf("%q", told)
	}
	unknown := Proposal{ID: "fa_none", Path: "x"}
	if _, err := s.Apply(t.Context(), s.order(unknown)); !fault.Is(err, fault.NotFound) {
		t.Errorf("without content: %v", err)
	}
}

// TestModes checks that an apply can make a file executable and otherwise keeps file modes.
func TestModes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if err := os.Chmod(filepath.Join(s.repo, "sub/b.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := true
	script := file("a.txt", base()["a.txt"])
	script.Program = &program
	done, err := s.Apply(t.Context(), s.order(script, file("sub/b.txt", "other\n")))
	if err != nil || done.Applied != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	modes := func() string {
		var list []string
		for _, name := range []string{"a.txt", "sub/b.txt"} {
			st, err := os.Stat(filepath.Join(s.repo, name))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, st.Mode().Perm().String())
		}
		return strings.Join(list, " ")
	}
	if got := modes(); got != "-rwxr-xr-x -rw-------" {
		t.Error(got)
	}
	if _, err := s.Revert(t.Context(), Undo{ProjectID: s.project, CheckpointID: *done.CheckpointID, Actor: human()}); err != nil {
		t.Fatal(err)
	}
	if got := modes(); got != "-rw-r--r-- -rw-------" {
		t.Error(got)
	}
}

func TestExpectations(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	preview, err := s.Preview(t.Context(), s.project, Wanted{Given: []Proposal{file("a.txt", "new\n"), file("sub/b.txt", "new\n")}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s.repo, "a.txt", "meanwhile\n")
	o := Order{ProjectID: s.project, Wanted: Wanted{PreviewID: preview.PreviewID}, Actor: human()}
	_, err = s.Apply(t.Context(), o)
	if told, ok := errors.AsType[*fault.Error](err); !ok || told.Reason != fault.FilesRefused || !strings.Contains(fmt.Sprint(told.Data), ChangedSince) {
		t.Errorf("%v", err)
	}
	o.Skip = true
	done, err := s.Apply(t.Context(), o)
	if err != nil || done.Applied != 1 || len(done.Errors) != 1 || done.Errors[0].Reason != ChangedSince {
		t.Errorf("%+v, %v", done, err)
	}
	o = s.order(file("a.txt", "newer\n"))
	o.Expect = map[string]string{"a.txt": checkpoint.Hash([]byte("meanwhile\n"))}
	if _, err := s.Apply(t.Context(), o); err != nil {
		t.Error(err)
	}
	o = s.order(file("fresh.txt", "x"))
	o.Expect = map[string]string{"fresh.txt": ""}
	o.DryRun = true
	if done, err := s.Apply(t.Context(), o); err != nil || done.Applied != 1 || done.CheckpointID != nil {
		t.Errorf("%+v, %v", done, err)
	}
	if _, ok := tree(t, s.repo)["fresh.txt"]; ok {
		t.Error("a dry run wrote")
	}
	o = Order{ProjectID: s.project, Wanted: Wanted{PreviewID: "fp_none"}, Actor: human()}
	if _, err := s.Apply(t.Context(), o); !fault.Is(err, fault.PreviewGone) {
		t.Errorf("%v", err)
	}
}

func TestAChangeSinceTheApply(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	done, err := s.Apply(t.Context(), s.order(file("a.txt", "new\n"), file("sub/b.txt", "new\n")))
	if err != nil {
		t.Fatal(err)
	}
	put(t, s.repo, "a.txt", "mine\n")
	undo := Undo{ProjectID: s.project, CheckpointID: *done.CheckpointID, Actor: human()}
	if _, err := s.Revert(t.Context(), undo); !fault.Is(err, fault.FilesRefused) {
		t.Errorf("%v", err)
	}
	undo.Skip = true
	undone, err := s.Revert(t.Context(), undo)
	if err != nil || undone.Reverted != 1 || len(undone.Errors) != 1 || undone.Errors[0].Reason != ChangedApply {
		t.Errorf("%+v, %v", undone, err)
	}
	if got := tree(t, s.repo); got["a.txt"] != "mine\n" || got["sub/b.txt"] != "two\n" {
		t.Errorf("%q", got)
	}
}

// TestAnAnswer applies a job's answer and checks that it is merged with a person's later edits.
func TestAnAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	from := base()["a.txt"]
	dir := filepath.Join(s.dir, workspace.JobDir(s.project, "job_1"))
	put(t, dir, "job.yaml", jobRecord(s.dir, s.project))
	put(t, dir, "order.json", `{"place":{"repo_id":"repo","isolation":"none"}}`)
	put(t, dir, "from/"+checkpoint.Hash([]byte(from)), from)
	answer := map[string]any{
		"schema_version": 1, "type": "job_answer", "job_id": "job_1", "attempt_run_id": "run_none", "kind": "files",
		"answer": map[string]any{"summary": "s", "files": []any{
			map[string]any{"path": "a.txt", "content": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n"},
			map[string]any{"path": "new.txt", "content": "n\n"},
			map[string]any{"path": "gone.txt", "delete": true},
			map[string]any{"path": "sub/b.txt", "selection": "x"},
		}},
		"files": []any{
			map[string]any{"id": ID("job_1", "a.txt"), "path": "a.txt", "from_sha256": checkpoint.Hash([]byte(from)), "new_sha256": "x"},
			map[string]any{"id": ID("job_1", "new.txt"), "path": "new.txt", "from_sha256": nil},
			map[string]any{"id": ID("job_1", "gone.txt"), "path": "gone.txt", "from_sha256": checkpoint.Hash([]byte("bye\n"))},
			map[string]any{"id": ID("job_1", "sub/b.txt"), "path": "sub/b.txt", "from_sha256": nil, "problem": "the selection is not in the saved file"},
		},
	}
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "answer.json", string(text))
	put(t, s.repo, "a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
	list, err := s.List(t.Context(), s.project, checkpoint.Source{JobID: "job_1"})
	if err != nil || len(list.Files) != 4 || !list.Files[0].Merged || list.Files[3].Problem != NoSelection || list.Target.RepoID != "repo" {
		t.Fatalf("%+v, %v", list, err)
	}
	// A new service, like another process, finds the files by their ids.
	s.Service = s.service(t, s.Workspace)
	o := s.order()
	o.Wanted.IDs = []string{ID("job_1", "a.txt"), ID("job_1", "new.txt"), ID("job_1", "gone.txt")}
	if done, err := s.Apply(t.Context(), o); err != nil || done.Applied != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	want := map[string]string{"a.txt": "one\n2\n3\n4\n5\n6\n7\n8\nnine\n", "new.txt": "n\n", "sub/b.txt": "two\n"}
	if got := tree(t, s.repo); !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
	o.Wanted.IDs = []string{"fa_0000000000000000"}
	if _, err := s.Apply(t.Context(), o); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
}

func jobRecord(dir, project string) string {
	return `schema_version: 1
type: job_record
job:
  schema_version: 1
  type: job
  job_id: job_1
  job_kind: execution
  worker_kind: codex
  workspace_dir: ` + dir + `
  project_id: ` + project + `
  goal: g
  constraints: []
  deliverables: []
  permission_level: read-only
  context_refs: []
created_at: 2026-11-20T14:59:45.848Z
updated_at: 2026-11-20T14:59:45.848Z
status: completed
cancellation_requested: false
current_attempt: 0
attempts: []
`
}

func TestCleanUp(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	done, err := s.Apply(t.Context(), s.order(file("a.txt", "x")))
	if err != nil {
		t.Fatal(err)
	}
	report, err := CleanUp(t.Context(), s.Workspace, "", false)
	if err != nil || report != (Removed{1, 0}) {
		t.Errorf("%+v, %v", report, err)
	}
	plan := filepath.Join(s.dir, workspace.CheckpointDir(s.project, *done.CheckpointID), "plan.json")
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(text), `"at":"`) + len(`"at":"`)
	put(t, filepath.Dir(plan), "plan.json", string(text[:at])+"2020"+string(text[at+4:]))
	for _, dry := range []bool{true, false} {
		if report, err := CleanUp(t.Context(), s.Workspace, s.project, dry); err != nil || report != (Removed{1, 1}) {
			t.Errorf("%+v, %v", report, err)
		}
	}
	if list, err := s.Workspace.Checkpoints(s.project); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
