package company_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/company"
	"ac/company/equipment"
	"ac/internal/fault"
	"ac/workspace"
)

// TestTerminalsAreOff checks that terminals are disabled by default. If they are enabled, a refused
// request starts nothing and writes nothing.
func TestTerminalsAreOff(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(workspace.Canonical(t.TempDir()), "ws")
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
		t.Fatal(err)
	}
	off := company.New(company.Options{Env: workspace.SystemEnv()})
	defer off.Close()
	p := equipment.CreateTerminalParams{Shell: "sh", Cols: 80, Rows: 24}
	p.WorkspaceDir, p.ActorID, p.ActorRole = dir, "human", "human"
	if _, err := company.Do(t.Context(), off, equipment.Operations.CreateTerminal, p); !fault.Is(err, fault.TerminalDisabled) {
		t.Error(err)
	}
	if list, err := company.Do(t.Context(), off, equipment.Operations.ListTerminals, p.Dir); err != nil || list.Available {
		t.Errorf("%+v %v", list, err)
	}
	on := company.New(company.Options{Env: workspace.SystemEnv(), Executable: "/nonexistent", Terminals: true})
	defer on.Close()
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*equipment.CreateTerminalParams)
		want   fault.Reason
	}{
		"a worker":         {func(p *equipment.CreateTerminalParams) { p.ActorRole = "worker" }, fault.ActorNotAllowed},
		"a path":           {func(p *equipment.CreateTerminalParams) { p.Shell = "/bin/sh" }, fault.ShellNotAllowed},
		"a link that left": {func(p *equipment.CreateTerminalParams) { p.CWD = "away" }, fault.PathOutsideRoot},
		"a file":           {func(p *equipment.CreateTerminalParams) { p.CWD = workspace.CompanyFile }, fault.NotADirectory},
	} {
		one := p
		c.change(&one)
		if _, err := company.Do(t.Context(), on, equipment.Operations.CreateTerminal, one); !fault.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	one := equipment.OneTerminal{Dir: p.Dir, PersonParams: p.PersonParams, TerminalID: "pty-aaaaaaaaaa"}
	for role, want := range map[string]fault.Reason{"worker": fault.ActorNotAllowed, "human": fault.TerminalNotFound, "manager": fault.ActorNotAllowed} {
		if one.ActorID, one.ActorRole = "human", role; role == "manager" {
			one.ActorID = "nobody" // has no record as a manager
		}
		for name, err := range reachFor(t, on, one) {
			if !fault.Is(err, want) {
				t.Errorf("%s as %s: %v, want %s", name, role, err, want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(workspace.TerminalsLog))); !os.IsNotExist(err) {
		t.Errorf("a refusal was recorded as a terminal: %v", err)
	}
	if list, err := company.Do(t.Context(), on, equipment.Operations.ListTerminals, p.Dir); err != nil || !list.Available || len(list.Terminals) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if h, err := on.Health(t.Context(), company.NoParams{}); err != nil || !h.Terminals.Available || h.Terminals.Limit != 16 || strings.Contains(h.Status, "degraded") {
		t.Errorf("%+v %v", h, err)
	}
}

// reachFor calls each method that takes a terminal and returns the errors by method.
func reachFor(t *testing.T, all *company.Host, one equipment.OneTerminal) map[string]error {
	t.Helper()
	said := map[string]error{}
	_, said["attach"] = company.Do(t.Context(), all, equipment.Operations.AttachTerminal, equipment.AttachTerminalParams{OneTerminal: one})
	_, said["read"] = company.Do(t.Context(), all, equipment.Operations.ReadTerminal, equipment.ReadTerminalParams{OneTerminal: one, Limit: 1})
	_, said["write"] = company.Do(t.Context(), all, equipment.Operations.WriteTerminal, equipment.WriteTerminalParams{OneTerminal: one, Text: new("x")})
	_, said["resize"] = company.Do(t.Context(), all, equipment.Operations.ResizeTerminal, equipment.ResizeTerminalParams{OneTerminal: one, Cols: 80, Rows: 24})
	_, said["rename"] = company.Do(t.Context(), all, equipment.Operations.RenameTerminal, equipment.RenameTerminalParams{OneTerminal: one, Title: "x"})
	_, said["close"] = company.Do(t.Context(), all, equipment.Operations.CloseTerminal, equipment.CloseTerminalParams{OneTerminal: one})
	return said
}
