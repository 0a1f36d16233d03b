package worktree_test

// Launches in repositories, through real supervisors and providers.

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/events"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

type event struct {
	Type       string         `json:"type"`
	Actor      string         `json:"actor"`
	Visibility string         `json:"visibility"`
	Payload    map[string]any `json:"payload"`
}

// log reads a run's events, except provider.raw and usage events, and verifies the chain.
func (h house) log(t *testing.T, run string) (types []string, byType map[string]event) {
	t.Helper()
	replay, err := runs.ReadLog(h.Workspace, h.project, run, "verified", 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(replay.VerificationIssues)+len(replay.ParseIssues) > 0 {
		t.Errorf("issues of the log: %v %v", replay.VerificationIssues, replay.ParseIssues)
	}
	byType = map[string]event{}
	for _, line := range replay.Events {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type != events.ProviderRaw && !strings.HasPrefix(e.Type, "usage.") {
			types = append(types, e.Type)
			byType[e.Type] = e
		}
	}
	return types, byType
}

func (h house) stdout(t *testing.T, run string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.Dir(), workspace.RunDir(h.project, run), "outputs", "stdout.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (h house) manifest(t *testing.T, pack string) doc.ContextPack {
	t.Helper()
	manifest, err := workspace.Load(h.Workspace, doc.ContextPackCodec, path.Join(workspace.ContextPackDir(h.project, pack), "manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

func wantTypes(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("events\n got %v\nwant %v", got, want)
	}
}

func wantPayload(t *testing.T, e event, want map[string]any) {
	t.Helper()
	got, _ := json.Marshal(e.Payload)
	expected, _ := json.Marshal(want)
	if string(got) != string(expected) {
		t.Errorf("payload of %s\n got %s\nwant %s", e.Type, got, expected)
	}
}

func TestIsolatedLaunch(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	h.mapRepo(t, "alpha", repo)
	h.task(t, "task_a", "")
	ran := filepath.Join(t.TempDir(), "hook-ran")
	put(t, filepath.Join(repo, ".git", "hooks", "post-checkout"), "#!/bin/sh\ntouch "+ran+"\n")
	put(t, filepath.Join(repo, "a.txt"), "changed\n")
	put(t, filepath.Join(repo, "new.txt"), "untracked\n")
	made := h.run(t)

	record := h.launch(t, session.Order{
		RunID: made.RunID, RepoID: "alpha", WorkdirRel: "sub", TaskID: "task_a", MilestoneID: "ms_code",
		Argv: []string{"sh", "-c", "pwd; git symbolic-ref --short HEAD; cat ../a.txt"},
	})
	if record.Status != doc.StatusEnded {
		t.Fatalf("session %s: %s", record.Status, record.Error)
	}
	rel := path.Join(".local/worktrees", h.project, "task_a", made.RunID)
	branch := path.Join("ac", h.project, "task_a", made.RunID)
	place := filepath.Join(h.Dir(), rel)
	if want := filepath.Join(place, "sub") + "\n" + branch + "\none"; h.stdout(t, made.RunID) != want {
		t.Errorf("the provider saw\n%s\nwant\n%s", h.stdout(t, made.RunID), want)
	}
	if exists(ran) {
		t.Error("a hook of the repository was run")
	}
	spec := h.record(t, made.RunID).Spec
	if spec.WorktreeRel != rel || spec.WorktreeBranch != branch || spec.TaskID != "task_a" || spec.WorkdirRel != "sub" {
		t.Errorf("spec %+v", spec)
	}

	types, byType := h.log(t, made.RunID)
	wantTypes(t, types, "run.started", "worktree.prepared", "artifact.produced", "context_pack.snapshot_written", "run.executing", "run.ended")
	wantPayload(t, byType["worktree.prepared"], map[string]any{
		"repo_id": "alpha", "task_id": "task_a", "milestone_id": "ms_code", "worktree_relpath": rel, "branch": branch,
	})
	if e := byType["worktree.prepared"]; e.Actor != "agent_ann" || e.Visibility != "org" {
		t.Errorf("worktree.prepared by %s for %s", e.Actor, e.Visibility)
	}
	snapshot := h.manifest(t, made.ContextPackID).RepoSnapshot
	if snapshot == nil || !snapshot.Dirty || snapshot.RepoID != "alpha" || snapshot.HeadSHA != git(t, repo, "rev-parse", "HEAD") {
		t.Fatalf("snapshot %+v", snapshot)
	}
	patch := path.Join(workspace.ArtifactsDir(h.project), snapshot.DirtyPatchArtifactID+".patch")
	wantPayload(t, byType["artifact.produced"], map[string]any{
		"artifact_id": snapshot.DirtyPatchArtifactID, "relpath": patch, "kind": "repo_dirty_patch", "repo_id": "alpha",
	})
	wantPayload(t, byType["context_pack.snapshot_written"], map[string]any{
		"context_pack_id": made.ContextPackID, "repo_id": "alpha", "head_sha": snapshot.HeadSHA, "dirty": true,
		"dirty_patch_artifact_id": snapshot.DirtyPatchArtifactID,
	})
	if e := byType["run.executing"]; e.Payload["worktree_relpath"] != rel || e.Payload["worktree_branch"] != branch {
		t.Errorf("run.executing %v", e.Payload)
	}
	// Applying the patch makes the worktree match the repository.
	git(t, place, "apply", filepath.Join(h.Dir(), patch))
	if text, err := os.ReadFile(filepath.Join(place, "a.txt")); err != nil || string(text) != "changed\n" {
		t.Errorf("after the patch: %q, %v", text, err)
	}
}

func TestLaunchInTheRepositoryItself(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	h.mapRepo(t, "alpha", repo)
	h.task(t, "task_a", "")
	made := h.run(t)
	h.launch(t, session.Order{RunID: made.RunID, RepoID: "alpha", TaskID: "task_a", MilestoneID: "ms_plan", Argv: []string{"pwd"}})
	if got := h.stdout(t, made.RunID); got != repo {
		t.Errorf("ran in %s, want %s", got, repo)
	}
	types, byType := h.log(t, made.RunID)
	wantTypes(t, types, "run.started", "context_pack.snapshot_written", "run.executing", "run.ended")
	wantPayload(t, byType["context_pack.snapshot_written"], map[string]any{
		"context_pack_id": made.ContextPackID, "repo_id": "alpha", "head_sha": git(t, repo, "rev-parse", "HEAD"), "dirty": false,
		"dirty_patch_artifact_id": nil,
	})
	if spec := h.record(t, made.RunID).Spec; spec.WorktreeRel != "" || spec.WorktreeBranch != "" {
		t.Errorf("spec %+v", spec)
	}
	if exists(filepath.Join(h.Dir(), ".local/worktrees")) {
		t.Error("a place for worktrees was made")
	}
}

// TestSnapshotFailureLetsTheRunGoOn checks that a run goes on if its repository's state cannot
// be recorded.
func TestSnapshotFailureLetsTheRunGoOn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mapRepo(t, "plain", t.TempDir())
	broken := repository(t)
	h.mapRepo(t, "broken-pack", broken)
	for _, repo := range []string{"plain", "broken-pack"} {
		made := h.run(t)
		if repo == "broken-pack" {
			put(t, filepath.Join(broken, "a.txt"), "changed\n")
			put(t, filepath.Join(h.Dir(), workspace.ContextPackDir(h.project, made.ContextPackID), "manifest.yaml"), "type: other\n")
		}
		if record := h.launch(t, session.Order{RunID: made.RunID, RepoID: repo, Argv: []string{"true"}}); record.Status != doc.StatusEnded {
			t.Errorf("%s: %s: %s", repo, record.Status, record.Error)
		}
		types, byType := h.log(t, made.RunID)
		wantTypes(t, types, "run.started", "context_pack.snapshot_failed", "run.executing", "run.ended")
		failed := byType["context_pack.snapshot_failed"].Payload
		if failed["context_pack_id"] != made.ContextPackID || failed["repo_id"] != repo || failed["error"] == "" {
			t.Errorf("%s: %v", repo, failed)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(h.Dir(), workspace.ArtifactsDir(h.project), "*")); left != nil {
		t.Errorf("artifacts without a snapshot: %v", left)
	}
}

func TestStartFailures(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	h.mapRepo(t, "alpha", repo)
	h.mapRepo(t, "plain", t.TempDir())
	h.task(t, "task_a", "")
	h.task(t, "bad..name", "")
	h.task(t, "stray", "")
	put(t, filepath.Join(h.Dir(), workspace.TasksDir(h.project), "broken.md"), "---\ntype: task\nsurprise: 1\n---\n")
	if err := os.Rename(filepath.Join(h.Dir(), workspace.TasksDir(h.project), "stray.md"), filepath.Join(h.Dir(), workspace.TasksDir(h.project), "copy.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(repo, "away")); err != nil {
		t.Fatal(err)
	}
	git(t, repo, "add", "away")
	git(t, repo, "commit", "--quiet", "-m", "Link")
	for _, c := range []struct {
		name  string
		order session.Order
		says  string
	}{
		{"unknown repository", session.Order{RepoID: "beta"}, "beta"},
		{"missing task", session.Order{RepoID: "alpha", TaskID: "task_b"}, "task_b"},
		{"invalid task", session.Order{RepoID: "alpha", TaskID: "broken"}, "broken.md"},
		{"task of another name", session.Order{RepoID: "alpha", TaskID: "copy"}, "stray"},
		{"task that leads out", session.Order{RepoID: "alpha", TaskID: "../../x"}, "../../x"},
		{"unknown milestone", session.Order{RepoID: "alpha", TaskID: "task_a", MilestoneID: "ms_x"}, "ms_x"},
		{"no repository to branch from", session.Order{RepoID: "plain", TaskID: "task_a", MilestoneID: "ms_code"}, "not a git repository"},
		{"no name for a branch", session.Order{RepoID: "alpha", TaskID: "bad..name", MilestoneID: "ms_code"}, "not a valid branch name"},
		{"missing directory", session.Order{RepoID: "alpha", WorkdirRel: "nothing"}, "nothing"},
		{"file for a directory", session.Order{RepoID: "alpha", WorkdirRel: "a.txt"}, "not a directory"},
		{"link out of the repository", session.Order{RepoID: "alpha", WorkdirRel: "away"}, "is outside"},
		{"link out of the worktree", session.Order{RepoID: "alpha", WorkdirRel: "away", TaskID: "task_a", MilestoneID: "ms_code"}, "is outside"},
	} {
		t.Run(c.name, func(t *testing.T) {
			made := h.run(t)
			ran := filepath.Join(t.TempDir(), "ran")
			c.order.RunID, c.order.Argv = made.RunID, []string{"touch", ran}
			record := h.launch(t, c.order)
			if record.Status != doc.StatusFailed || !strings.Contains(record.Error, c.says) {
				t.Errorf("%s: %q, want an error with %q", record.Status, record.Error, c.says)
			}
			if run := h.record(t, made.RunID); run.Status != doc.StatusFailed || run.EndedAt == "" {
				t.Errorf("run %s, ended at %q", run.Status, run.EndedAt)
			}
			types, byType := h.log(t, made.RunID)
			if types[len(types)-1] != "run.failed" || slices.Contains(types, "run.executing") {
				t.Errorf("events %v", types)
			}
			if failed := byType["run.failed"].Payload; failed["exit_code"] != nil || failed["stopped"] != false || failed["error"] == "" {
				t.Errorf("run.failed %v", failed)
			}
			if exists(ran) {
				t.Error("the provider ran")
			}
		})
	}
}
