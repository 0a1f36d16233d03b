package company_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"ac/company"
	"ac/company/equipment"
	"ac/internal/lock"
	"ac/workspace"
)

// TestHealth checks that health lists open workspaces with their sessions, and current listeners.
// An unreadable workspace makes the status degraded.
func TestHealth(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(workspace.Canonical(t.TempDir()), "ws")
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
		t.Fatal(err)
	}
	all := company.New(company.Options{Env: workspace.SystemEnv(), Version: "v"})
	defer all.Close()
	health := func() company.Health {
		t.Helper()
		h, err := all.Health(t.Context(), company.NoParams{})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if h := health(); h.Status != "ok" || len(h.Workspaces) != 0 || h.ServerID != all.ServerID() ||
		!regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(h.ServerID) {
		t.Errorf("%+v", h)
	}
	if other := company.New(company.Options{Env: workspace.SystemEnv()}); other.ServerID() == all.ServerID() || other.Close() != nil {
		t.Error("two processes have one id")
	}
	if _, err := company.Do(t.Context(), all, equipment.Operations.ListMCPServers, company.Dir{WorkspaceDir: dir}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	hold, err := lock.Try(w.FS, workspace.LockFile("session-0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	done := all.AddListener("acecode", "127.0.0.1:28080", func() int { return 3 })
	h := health()
	if h.Status != "ok" || !slices.Equal(h.Workspaces, []company.HealthWorkspace{{WorkspaceDir: dir, ActiveSessions: 1}}) ||
		!slices.Equal(h.Listeners, []company.HealthListener{{Dialect: "acecode", Address: "127.0.0.1:28080", Clients: 3}}) {
		t.Errorf("%+v", h)
	}
	done()
	if err := hold.Release(); err != nil {
		t.Fatal(err)
	}
	if h := health(); h.Workspaces[0].ActiveSessions != 0 || len(h.Listeners) != 0 {
		t.Errorf("%+v", h)
	}
	if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(workspace.MachineFile)), []byte("- no document"), 0o600); err != nil {
		t.Fatal(err)
	}
	if h := health(); h.Status != "degraded" || !slices.Equal(h.Reasons, []string{company.ReasonUnreadable}) {
		t.Errorf("%+v", h)
	}
}
