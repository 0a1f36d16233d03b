package validate

import (
	"os"
	"path/filepath"
	"testing"

	"ac/workspace"
	"ac/workspace/workspacetest"
)

// TestWhatIsMadeIsValid validates a workspace after each operation that creates or changes
// documents: init, members, a project, another leader, a forced init.
func TestWhatIsMadeIsValid(t *testing.T) {
	t.Parallel()
	ctx, env := t.Context(), workspace.SystemEnv()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w := workspacetest.New(t, env)
	dir := w.Dir()
	valid := func(after string) {
		t.Helper()
		if found := Folder(env, dir); len(found.Issues)+len(found.Warnings) > 0 {
			t.Errorf("findings after %s: %+v", after, found)
		}
	}
	valid("init")
	team, err := w.NewTeam(ctx, "Front End & UX")
	must(err)
	for _, role := range []string{"ceo", "director", "manager", "worker"} {
		_, err = w.NewAgent(ctx, workspace.AgentSpec{Name: role, Role: role, Provider: "codex", TeamID: team})
		must(err)
	}
	valid("members")
	made, err := w.CreateProjectWithDefaults(ctx, "日本", "founder", []string{" zeta ", "alpha", "alpha", " "})
	must(err)
	valid("a project")
	_, err = w.SyncProjectDefaults(ctx, made.ID, workspace.Leader{ActorID: " boss ", EnrolMembers: true})
	must(err)
	valid("another leader")
	must(os.WriteFile(filepath.Join(dir, workspace.PolicyFile), []byte("type: nonsense\n"), 0o600))
	must(workspace.Init(ctx, env, dir, workspace.InitOptions{CompanyName: "New", Force: true}))
	valid("init by force")
}
