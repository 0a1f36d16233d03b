package company_test

// Proposed files through the protocol: they wait for a human, who decides in the inbox.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/company"
	"ac/internal/fault"
	"ac/rpc"
	"ac/workspace"
)

func TestFilesWaitInTheInbox(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir, repo := filepath.Join(top, "ws"), filepath.Join(top, "repo")
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	all := company.New(company.Options{Env: workspace.SystemEnv(), Executable: "/nonexistent"})
	t.Cleanup(func() { _ = all.Close() })
	table := rpc.NewTable("test")
	call := func(method, params string, into any) error {
		t.Helper()
		result, err := table.Call(t.Context(), all, method, []byte(strings.NewReplacer("DIR", dir, "REPO", repo).Replace(params)))
		if err != nil || into == nil {
			return err
		}
		text, err := json.Marshal(result)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
		return nil
	}
	must := func(method, params string, into any) {
		t.Helper()
		if err := call(method, params, into); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
	must("workspace.init", `{"workspace_dir":"DIR"}`, nil)
	var made struct {
		ID string `json:"project_id"`
	}
	must("workspace.project.create_with_defaults", `{"workspace_dir":"DIR","name":"P","repo_ids":["r"]}`, &made)
	must("workspace.repo_root.set", `{"workspace_dir":"DIR","repo_id":"r","repo_path":"REPO","require_git":false}`, nil)
	project := filepath.Join(dir, workspace.ProjectFile(made.ID))
	text, err := os.ReadFile(project)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(project, append(text, "file_artifacts: {approval: required}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	files := `{"workspace_dir":"DIR","project_id":"` + made.ID + `","artifacts":[{"path":"a.txt","content":"x\n"}],"actor_id":"mia","actor_role":"manager"}`
	if err := call("artifact.apply", files, nil); !fault.Is(err, fault.ApprovalRequired) {
		t.Fatalf("%v", err)
	}
	var inbox struct {
		Pending []struct {
			ArtifactID   string `json:"artifact_id"`
			ArtifactType string `json:"artifact_type"`
		} `json:"pending"`
	}
	must("inbox.snapshot", `{"workspace_dir":"DIR","sync_index":true}`, &inbox)
	if len(inbox.Pending) != 1 || inbox.Pending[0].ArtifactType != "proposal" {
		t.Fatalf("%+v", inbox)
	}
	// Both decisions invalidate the cached changes of runs: an approval applies files or lands work.
	forgotten := func(method, params string, into any) {
		t.Helper()
		now := all.Now()
		_, keep := all.RecentChanges().Answer("a run", now)
		keep("its changes", now)
		must(method, params, into)
		if known, _ := all.RecentChanges().Answer("a run", now); known != nil {
			t.Errorf("%s leaves what it changed in the cache", method)
		}
	}
	var resolved struct {
		CheckpointID string `json:"checkpoint_id"`
	}
	forgotten("inbox.resolve", `{"workspace_dir":"DIR","project_id":"`+made.ID+`","artifact_id":"`+inbox.Pending[0].ArtifactID+`","decision":"approved","actor_id":"human","actor_role":"human"}`, &resolved)
	forgotten("inbox.resolve_many", `{"workspace_dir":"DIR","items":[{"project_id":"`+made.ID+`","artifact_id":"`+inbox.Pending[0].ArtifactID+`","decision":"denied"}],"actor_id":"human","actor_role":"human"}`, nil)
	if text, err := os.ReadFile(filepath.Join(repo, "a.txt")); err != nil || string(text) != "x\n" || resolved.CheckpointID == "" {
		t.Errorf("%q, %+v, %v", text, resolved, err)
	}
	must("inbox.snapshot", `{"workspace_dir":"DIR","sync_index":true}`, &inbox)
	if len(inbox.Pending) != 0 {
		t.Errorf("%+v", inbox)
	}
	var report struct {
		Issues []any `json:"issues"`
	}
	must("workspace.validate", `{"workspace_dir":"DIR"}`, &report)
	if len(report.Issues) != 0 {
		t.Errorf("%+v", report)
	}
}
