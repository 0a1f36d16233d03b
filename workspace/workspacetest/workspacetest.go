// Package workspacetest creates workspaces for the tests of other packages.
package workspacetest

import (
	"path/filepath"
	"testing"

	"ac/workspace"
)

// New creates a workspace of a new company in a temporary directory of the test. It closes
// the workspace when the test ends.
func New(t testing.TB, env workspace.Env) *workspace.Workspace {
	t.Helper()
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
