package hub

import (
	"path/filepath"
	"testing"

	"ac/workspace"
)

// testWorkspace returns a workspace for tests of a part of the hub.
func testWorkspace(t *testing.T) *workspace.Workspace {
	t.Helper()
	env := workspace.SystemEnv()
	dir := filepath.Join(workspace.Canonical(t.TempDir()), "ws")
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}
