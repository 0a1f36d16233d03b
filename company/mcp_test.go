package company_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/company"
	"ac/company/equipment"
	"ac/events"
	"ac/internal/fault"
	"ac/runs/mcpserver"
	"ac/workspace"
)

// TestEquipmentIsAudited checks that the audit log records who changed which MCP servers, without
// values. A refused worker is recorded too and changes nothing.
func TestEquipmentIsAudited(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
		t.Fatal(err)
	}
	all := company.New(company.Options{Env: workspace.SystemEnv()})
	defer all.Close()
	text := func(name string) string {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	p := equipment.PutMCPServerParams{Change: mcpserver.Change{
		ID: "files", Transport: new("stdio"), Command: new("run"), Env: &map[string]string{"KEY": "never-shown-1"},
	}}
	p.WorkspaceDir, p.ActorID, p.ActorRole = dir, "ada", "human"
	if _, err := company.Do(t.Context(), all, equipment.Operations.PutMCPServer, p); err != nil {
		t.Fatal(err)
	}
	before, secrets := text(workspace.MachineFile), text(workspace.SecretsFile)
	if strings.Contains(before, "never-shown-1") || !strings.Contains(secrets, "never-shown-1") {
		t.Error("the value is kept in the wrong file")
	}
	if st, err := os.Stat(filepath.Join(dir, filepath.FromSlash(workspace.SecretsFile))); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	p.ActorID, p.ActorRole, p.Command = "wim", "worker", new("other")
	if _, err := company.Do(t.Context(), all, equipment.Operations.PutMCPServer, p); !fault.Is(err, fault.Denied) {
		t.Error(err)
	}
	if after := text(workspace.MachineFile); after != before {
		t.Errorf("a worker changed it: %s", after)
	}
	audit := text(workspace.AuditLog)
	if n := strings.Count(audit, events.MachineConfigured); n != 1 || !strings.Contains(audit, `"names":["files"]`) || !strings.Contains(audit, `"actor":"wim"`) {
		t.Errorf("%d changes: %s", n, audit)
	}
	if strings.Contains(audit, "never-shown-1") {
		t.Error("the audit has a value")
	}
}
