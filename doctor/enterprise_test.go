package doctor_test

import (
	"os"
	"path/filepath"
	"testing"

	"ac/doctor"
	"ac/workspace"
)

// TestEnterpriseChecks checks that statements and the executive manager are examined only in
// companies that have them.
func TestEnterpriseChecks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
		t.Fatal(err)
	}
	status := func() map[string]string {
		w, err := workspace.Open(workspace.SystemEnv(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		found := map[string]string{}
		for _, check := range doctor.RunChecks(t.Context(), doctor.Target{Env: w.Env, Dir: dir, RequestedDir: dir, Workspace: w}).Checks {
			found[check.ID] = check.Status
		}
		return found
	}
	write := func(name, text string) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"usage.statements", "heartbeat.hierarchy"} {
		if s, there := status()[id]; there {
			t.Errorf("%s is %s in a company that has nothing of it", id, s)
		}
	}
	write(workspace.StatementsFile, "{")
	write(".local/heartbeat/config.yaml", "hierarchy_mode: enterprise_v1\nexecutive_manager_agent_id: agent_gone\n")
	for id, want := range map[string]string{"usage.statements": doctor.Warn, "heartbeat.hierarchy": doctor.Warn, "heartbeat.config": doctor.Pass} {
		if got := status()[id]; got != want {
			t.Errorf("%s: %s instead of %s", id, got, want)
		}
	}
}
