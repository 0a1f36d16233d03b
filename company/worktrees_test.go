package company_test

// worktree.cleanup, called as clients call it.

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/company"
	"ac/internal/fault"
	"ac/rpc"
	"ac/workspace"
)

func TestWorktreeCleanup(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	all := company.New(company.Options{Env: workspace.SystemEnv(), Executable: "/nonexistent"})
	t.Cleanup(func() { _ = all.Close() })
	table := rpc.NewTable("test")
	call := func(method, params string) (string, error) {
		t.Helper()
		result, err := table.Call(t.Context(), all, method, []byte(strings.ReplaceAll(params, "DIR", dir)))
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), dir, "DIR"), nil
	}
	if _, err := call("worktree.cleanup", `{"workspace_dir":"DIR"}`); !fault.Is(err, fault.NotAWorkspace) {
		t.Errorf("no workspace: %v", err)
	}
	if _, err := call("workspace.init", `{"workspace_dir":"DIR"}`); err != nil {
		t.Fatal(err)
	}
	runDir := filepath.Join(dir, "work/projects/proj_a/runs/run_a")
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `schema_version: 1
type: run
id: run_a
project_id: proj_a
agent_id: agent_a
provider: cmd
created_at: 2026-01-01T00:00:00.000Z
status: ended
context_pack_id: ctx_a
events_relpath: runs/run_a/events.jsonl
ended_at: 2026-01-02T00:00:00.000Z
spec:
  kind: command
  argv: ["true"]
  worktree_relpath: .local/worktrees/proj_a/task_a/run_a
`
	if err := os.WriteFile(filepath.Join(runDir, "run.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ params, want string }{
		{`{"workspace_dir":"DIR"}`, `{"workspace_dir":"DIR","dry_run":false,"max_age_hours":72,"scanned":1,"eligible":1,"removed":0,"missing":1,"failed":0,"kept":0,` +
			`"items":[{"project_id":"proj_a","run_id":"run_a","repo_id":null,"worktree_relpath":".local/worktrees/proj_a/task_a/run_a",` +
			`"worktree_abs":"DIR/.local/worktrees/proj_a/task_a/run_a","branch":null,"status":"ended","ended_at":"2026-01-02T00:00:00.000Z","action":"missing","reason":"it does not exist"}],"checkpoints":{"scanned":0,"removed":0}}`},
		{`{"workspace_dir":"DIR","project_id":"proj_b","max_age_hours":0.5,"dry_run":true}`, `{"workspace_dir":"DIR","dry_run":true,"max_age_hours":0.5,"scanned":0,"eligible":0,"removed":0,"missing":0,"failed":0,"kept":0,"items":[],"checkpoints":{"scanned":0,"removed":0}}`},
	} {
		if got, err := call("worktree.cleanup", c.params); err != nil || got != c.want {
			t.Errorf("%s\n got %s, %v\nwant %s", c.params, got, err, c.want)
		}
	}
	for _, c := range []struct{ field, params string }{
		{"max_age_hours", `{"workspace_dir":"DIR","max_age_hours":-1}`},
		{"max_age_hours", `{"workspace_dir":"DIR","max_age_hours":"72"}`},
		{"max_age_hours", `{"workspace_dir":"DIR","max_age_hours":null}`},
		{"dry_run", `{"workspace_dir":"DIR","dry_run":1}`},
		{"project_id", `{"workspace_dir":"DIR","project_id":"../x"}`},
		{"workspace_dir", `{}`},
	} {
		_, err := call("worktree.cleanup", c.params)
		var refused *fault.Error
		if !errors.As(err, &refused) || refused.Reason != fault.InvalidParams || refused.Issues[0].Field() != c.field {
			t.Errorf("%s: %v", c.params, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, workspace.MachineFile), []byte("type: other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := call("worktree.cleanup", `{"workspace_dir":"DIR"}`); !fault.Is(err, fault.InvalidFile) {
		t.Errorf("a machine.yaml that cannot be read: %v", err)
	}
}
