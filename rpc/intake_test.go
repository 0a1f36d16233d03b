package rpc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/internal/proc/proctest"
)

// TestLongIntakeHoldsUpNobody checks that a client intake whose agents block doesn't block the
// workspace. Meanwhile the server answers writes and reads, and lists the new project. The
// proposal for the CEO appears once the agents have ended.
func TestLongIntakeHoldsUpNobody(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	dir := t.TempDir()
	ws, begun, release := filepath.Join(dir, "ws"), filepath.Join(dir, "begun"), filepath.Join(dir, "release")
	t.Cleanup(func() { _ = os.WriteFile(release, nil, 0o600) }) // whatever happens, the agents end
	var made struct {
		Agents struct {
			Executive string `json:"executive_manager_agent_id"`
		}
	}
	p.call("workspace.bootstrap.enterprise", object{"workspace_dir": ws, "departments": []any{"qa"}, "workers_per_dept": 1}, &made)
	bins := ""
	for _, name := range []string{"gemini", "codex"} {
		program := filepath.Join(dir, name)
		script := fmt.Sprintf("#!/bin/sh\n: > '%s'\nwhile [ ! -e '%s' ]; do sleep 0.05; done\nexit 3\n", begun, release)
		if err := proctest.WriteProgram(program, []byte(script)); err != nil {
			t.Fatal(err)
		}
		bins += "  " + name + ": " + program + "\n"
	}
	machine := filepath.Join(ws, ".local", "machine.yaml")
	text, err := os.ReadFile(machine)
	if err == nil {
		text = []byte(strings.Replace(string(text), "provider_bins: {}\n", "provider_bins:\n"+bins, 1))
		err = os.WriteFile(machine, text, 0o600)
	}
	if err != nil || !strings.Contains(string(text), bins) {
		t.Fatalf("%s (%v)", text, err)
	}
	p.send(requestLine("intake", "pipeline.client_intake.run", object{
		"workspace_dir": ws, "project_name": "Shop", "ceo_actor_id": "human_ceo", "executive_manager_agent_id": made.Agents.Executive, "model": "m",
	}) + "\n")
	awaitFile(t, begun)
	var projects struct {
		Projects []struct {
			ID      string `json:"project_id"`
			Name    string
			Pending int `json:"pending_reviews"`
		}
	}
	p.call("workspace.project.create_with_defaults", object{"workspace_dir": ws, "name": "Beside"}, &struct{}{})
	p.call("workspace.projects.list", object{"workspace_dir": ws}, &projects)
	if len(projects.Projects) != 3 || projects.Projects[1].Name != "Shop" || projects.Projects[1].Pending != 0 {
		t.Errorf("while the agents write: %+v", projects)
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var intake struct {
		Artifacts struct {
			Approval string `json:"approval_artifact_id"`
		}
		Generation struct {
			Mode      string
			Attempted int
			Failed    int
		}
	}
	p.decode(p.read(p.next()), &intake)
	if g := intake.Generation; g.Mode != "provider_with_fallback" || g.Attempted != 3 || g.Failed != 3 || intake.Artifacts.Approval == "" {
		t.Errorf("%+v", intake)
	}
	var inbox struct {
		Pending []struct {
			ID    string `json:"artifact_id"`
			Title string
		}
	}
	p.call("inbox.snapshot", object{"workspace_dir": ws, "project_id": projects.Projects[1].ID}, &inbox)
	if len(inbox.Pending) != 1 || inbox.Pending[0].ID != intake.Artifacts.Approval || !strings.Contains(inbox.Pending[0].Title, "Executive Plan") {
		t.Errorf("%+v", inbox)
	}
}
